// The header of a safetensors file: names, dtypes, shapes and byte ranges, checked against the
// file's size. Knows nothing of files or of what a tensor means.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/dtype.h"

namespace natsl::model_adapters {

/// One tensor of a file. `data` points into the file's bytes.
struct TensorView {
  std::string dtype_name;            ///< as in the file: "F32", "U8", ...
  std::optional<core::DType> dtype;  ///< nothing for element types that core::DType lacks
  std::vector<int64_t> shape;        ///< row-major; empty: a scalar
  const std::byte* data = nullptr;
  int64_t bytes = 0;

  int64_t elements() const {
    int64_t count = 1;
    for (const int64_t size : shape) count *= size;
    return count;
  }
};

struct SafetensorsHeader {
  std::map<std::string, TensorView, std::less<>> tensors;
  std::map<std::string, std::string, std::less<>> metadata;  ///< "__metadata__"
};

/// Parses and checks the bytes of a whole file. Every tensor's byte range fits its dtype and shape,
/// ranges are aligned to the element, don't overlap and leave no holes. `where` names the file in
/// errors. Throws Error (model).
SafetensorsHeader ParseSafetensors(std::span<const std::byte> file, std::string_view where);

/// The file's name of an element type ("F32"), and bytes of one element by that name.
std::string_view SafetensorsName(core::DType dtype);
std::optional<int64_t> SafetensorsElementBytes(std::string_view name);

/// A name from a file for an error message: control characters as '?', at most 100 bytes.
std::string Printable(std::string_view name);

/// "[2, 3]"
std::string ShapeText(const std::vector<int64_t>& shape);

}  // namespace natsl::model_adapters
