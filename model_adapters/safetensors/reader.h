// Memory-mapped safetensors: one file, or the weights of a model folder (single or sharded).
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/files.h"
#include "model_adapters/safetensors/header.h"

namespace natsl::model_adapters {

/// One file, mapped. Views stay valid as long as this lives (moves included).
class SafetensorsFile {
 public:
  /// Throws Error (model): missing, cut short or malformed.
  explicit SafetensorsFile(const std::filesystem::path& path);

  const std::map<std::string, TensorView, std::less<>>& tensors() const { return header_.tensors; }
  const std::map<std::string, std::string, std::less<>>& metadata() const {
    return header_.metadata;
  }
  /// Throws Error (model) where there is no such tensor.
  const TensorView& At(std::string_view name) const;
  const std::filesystem::path& path() const { return path_; }
  std::string_view bytes() const { return file_.text(); }

 private:
  std::filesystem::path path_;
  core::MappedFile file_;
  SafetensorsHeader header_;
};

/// All tensors of a folder's `model.safetensors.index.json` and its shards, else of its
/// `model.safetensors`. Throws Error (model): neither is there, a shard is missing or malformed, a
/// tensor is in two shards, in no shard or not in the index.
class SafetensorsFolder {
 public:
  explicit SafetensorsFolder(const std::filesystem::path& folder);

  const std::map<std::string, const TensorView*, std::less<>>& tensors() const { return tensors_; }
  const std::vector<SafetensorsFile>& files() const { return files_; }

 private:
  std::vector<SafetensorsFile> files_;
  std::map<std::string, const TensorView*, std::less<>> tensors_;
};

}  // namespace natsl::model_adapters
