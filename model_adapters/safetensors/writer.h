// Writing safetensors: the same tensors give the same bytes, whatever order they came in.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/dtype.h"

namespace natsl::model_adapters {

class SafetensorsWriter {
 public:
  /// Row-major elements, little endian. The bytes are copied. Throws Error (internal) where the
  /// name was added before, isn't valid UTF-8, or shape and bytes disagree.
  void Add(const std::string& name, core::DType dtype, std::vector<int64_t> shape,
           std::span<const std::byte> bytes);
  void Add(const std::string& name, std::vector<int64_t> shape, std::span<const float> values);
  void Add(const std::string& name, std::vector<int64_t> shape, std::span<const int64_t> values);
  void Add(const std::string& name, std::vector<int64_t> shape, std::span<const int32_t> values);

  /// Goes into "__metadata__". transformers expects {"format": "pt"}.
  void SetMetadata(const std::string& key, const std::string& value);

  /// The file: wider element types first, names sorted, header padded to a multiple of 8 bytes.
  std::string Bytes() const;
  /// Replaces the file at once (core::WriteFileAtomic).
  void Write(const std::filesystem::path& path) const;

 private:
  struct Tensor {
    core::DType dtype;
    std::vector<int64_t> shape;
    std::string bytes;
  };
  std::map<std::string, Tensor> tensors_;
  std::map<std::string, std::string> metadata_;
};

}  // namespace natsl::model_adapters
