// Writing safetensors.
#include "model_adapters/safetensors/writer.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/cast.h"
#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "core/utf8.h"
#include "model_adapters/safetensors/header.h"

namespace natsl::model_adapters {

void SafetensorsWriter::Add(const std::string& name, core::DType dtype, std::vector<int64_t> shape,
                            std::span<const std::byte> bytes) {
  int64_t expected = core::ByteSize(dtype);
  for (const int64_t size : shape) expected *= size;
  if (expected != core::Size(bytes)) {
    throw InternalError("tensor \"{}\": {} bytes for {} [{}], expected {}", name, bytes.size(),
                        core::Name(dtype), fmt::join(shape, ", "), expected);
  }
  if (name == "__metadata__" || !core::IsValidUtf8(name)) {
    throw InternalError("a tensor can't be called \"{}\"", name);
  }
  std::string copy(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!tensors_.try_emplace(name, Tensor{dtype, std::move(shape), std::move(copy)}).second) {
    throw InternalError("tensor \"{}\" was added before", name);
  }
}

void SafetensorsWriter::Add(const std::string& name, std::vector<int64_t> shape,
                            std::span<const float> values) {
  Add(name, core::DType::kFloat32, std::move(shape), std::as_bytes(values));
}

void SafetensorsWriter::Add(const std::string& name, std::vector<int64_t> shape,
                            std::span<const int64_t> values) {
  Add(name, core::DType::kInt64, std::move(shape), std::as_bytes(values));
}

void SafetensorsWriter::Add(const std::string& name, std::vector<int64_t> shape,
                            std::span<const int32_t> values) {
  Add(name, core::DType::kInt32, std::move(shape), std::as_bytes(values));
}

void SafetensorsWriter::SetMetadata(const std::string& key, const std::string& value) {
  metadata_[key] = value;
}

std::string SafetensorsWriter::Bytes() const {
  std::vector<std::pair<const std::string*, const Tensor*>> order;
  for (const auto& [name, tensor] : tensors_) order.emplace_back(&name, &tensor);
  std::ranges::stable_sort(order, [](const auto& a, const auto& b) {
    return core::ByteSize(a.second->dtype) > core::ByteSize(b.second->dtype);
  });
  // Text by hand: ordered_json looks keys up one by one, which is slow for thousands of tensors.
  std::string header = "{";
  const auto quoted = [](const std::string& text) { return core::Json(text).dump(); };
  if (!metadata_.empty()) {
    header += "\"__metadata__\":{";
    for (const auto& [key, value] : metadata_) {
      if (header.back() != '{') header += ',';
      header += quoted(key) + ':' + quoted(value);
    }
    header += '}';
  }
  int64_t offset = 0;
  for (const auto& [name, tensor] : order) {
    const int64_t end = offset + core::Size(tensor->bytes);
    if (header.size() > 1) header += ',';
    header += fmt::format("{}:{{\"dtype\":\"{}\",\"shape\":[{}],\"data_offsets\":[{},{}]}}",
                          quoted(*name), SafetensorsName(tensor->dtype),
                          fmt::join(tensor->shape, ","), offset, end);
    offset = end;
  }
  header += '}';
  header.resize((header.size() + 7) / 8 * 8, ' ');

  std::string file;
  file.reserve(8 + header.size() + static_cast<size_t>(offset));
  for (size_t i = 0; i < 8; ++i) {
    file += static_cast<char>(static_cast<uint64_t>(header.size()) >> (8 * i) & 0xFF);
  }
  file += header;
  for (const auto& [name, tensor] : order) file += tensor->bytes;
  return file;
}

void SafetensorsWriter::Write(const std::filesystem::path& path) const {
  core::WriteFileAtomic(path, Bytes());
}

}  // namespace natsl::model_adapters
