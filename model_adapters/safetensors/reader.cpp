// Opening safetensors files and folders.
#include "model_adapters/safetensors/reader.h"

#include <set>

#include "core/limits.h"
#include "model_adapters/model_folder.h"
#include "model_adapters/safetensors/index.h"

namespace natsl::model_adapters {
namespace {

constexpr const char* kIndexName = "model.safetensors.index.json";
constexpr const char* kSingleName = "model.safetensors";

}  // namespace

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path)
    : path_(path),
      file_(path, ErrorCode::kModel),
      header_(ParseSafetensors(file_.bytes(), path.string())) {}

const TensorView& SafetensorsFile::At(std::string_view name) const {
  const auto found = header_.tensors.find(name);
  if (found == header_.tensors.end()) {
    throw ModelError("{}: there is no tensor \"{}\"", path_.string(), name);
  }
  return found->second;
}

SafetensorsFolder::SafetensorsFolder(const std::filesystem::path& folder) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(folder, ignored)) {
    throw ModelError("{}: not a folder, expected a model's folder", folder.string());
  }
  const std::filesystem::path index_path = FileInFolder(folder, kIndexName);
  if (!std::filesystem::exists(index_path, ignored)) {
    const std::filesystem::path single = FileInFolder(folder, kSingleName);
    if (!std::filesystem::exists(single, ignored)) {
      throw ModelError("{}: neither {} nor {} is there; convert other formats to safetensors first",
                       folder.string(), kSingleName, kIndexName);
    }
    files_.emplace_back(single);
    for (const auto& [name, view] : files_[0].tensors()) tensors_.emplace(name, &view);
    return;
  }
  const auto weight_map = ParseShardIndex(
      core::ReadFile(index_path, ErrorCode::kModel, limits::kMaxIndexBytes), index_path.string());
  std::set<std::string> names;
  for (const auto& [tensor, file] : weight_map) names.insert(file);
  files_.reserve(names.size());  // views point into the files: they must not move
  for (const std::string& name : names) {
    const std::filesystem::path path =
        InContext(index_path.string(), [&] { return FileInFolder(folder, name); });
    if (!std::filesystem::exists(path, ignored)) {
      throw ModelError("{}: the shard \"{}\" is missing", index_path.string(), Printable(name));
    }
    files_.emplace_back(path);
    for (const auto& [tensor, view] : files_.back().tensors()) {
      const auto [found, added] = tensors_.emplace(tensor, &view);
      if (!added) {
        throw ModelError("{}: tensor \"{}\" is in two shards, \"{}\" and another", folder.string(),
                         Printable(tensor), Printable(name));
      }
      const auto listed = weight_map.find(tensor);
      if (listed == weight_map.end() || listed->second != name) {
        throw ModelError("{}: tensor \"{}\" is in \"{}\", but the index says {}", folder.string(),
                         Printable(tensor), Printable(name),
                         listed == weight_map.end()
                             ? "nothing of it"
                             : "it is in \"" + Printable(listed->second) + "\"");
      }
    }
  }
  for (const auto& [tensor, file] : weight_map) {
    if (!tensors_.contains(tensor)) {
      throw ModelError("{}: the index says that tensor \"{}\" is in \"{}\", but it isn't",
                       folder.string(), Printable(tensor), Printable(file));
    }
  }
}

}  // namespace natsl::model_adapters
