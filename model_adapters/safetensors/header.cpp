// Parsing of safetensors headers. The JSON is read as events, not into a tree: the format has one
// fixed shape, and a hostile header can neither nest nor make the cost grow faster than its length.
#include "model_adapters/safetensors/header.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "core/cast.h"
#include "core/error.h"
#include "core/limits.h"

namespace natsl::model_adapters {
namespace {

struct ElementType {
  std::string_view name;
  int64_t bytes;
  std::optional<core::DType> dtype;
};
constexpr std::array<ElementType, 16> kElementTypes = {{
    {"F64", 8, core::DType::kFloat64},
    {"F32", 4, core::DType::kFloat32},
    {"F16", 2, core::DType::kFloat16},
    {"BF16", 2, core::DType::kBFloat16},
    {"I64", 8, core::DType::kInt64},
    {"I32", 4, core::DType::kInt32},
    {"I16", 2, std::nullopt},
    {"I8", 1, std::nullopt},
    {"U64", 8, std::nullopt},
    {"U32", 4, std::nullopt},
    {"U16", 2, std::nullopt},
    {"U8", 1, std::nullopt},
    {"BOOL", 1, std::nullopt},
    {"F8_E4M3", 1, std::nullopt},
    {"F8_E5M2", 1, std::nullopt},
    {"C64", 8, std::nullopt},
}};

const ElementType* FindElementType(std::string_view name) {
  for (const ElementType& type : kElementTypes) {
    if (type.name == name) return &type;
  }
  return nullptr;
}

struct Entry {
  std::string dtype;
  std::vector<int64_t> shape;
  std::vector<int64_t> offsets;
  bool has_dtype = false, has_shape = false, has_offsets = false;
};

/// Accepts exactly {name: {"dtype": text, "shape": [n...], "data_offsets": [begin, end]}} and
/// {"__metadata__": {text: text}}; anything else stops the parse with `problem`.
class HeaderEvents : public nlohmann::json_sax<nlohmann::json> {
 public:
  std::map<std::string, Entry, std::less<>> entries;
  std::map<std::string, std::string, std::less<>> metadata;
  std::string problem;

  bool null() override { return Unexpected("null"); }
  bool boolean(bool) override { return Unexpected("true or false"); }
  bool number_float(double, const std::string& text) override {
    return Unexpected("the number " + text.substr(0, 40));
  }
  bool binary(nlohmann::json::binary_t&) override { return Unexpected("binary data"); }
  bool number_integer(int64_t value) override {
    return Unexpected("the number " + std::to_string(value));
  }
  bool number_unsigned(uint64_t value) override {
    if (place_ != Place::kShape && place_ != Place::kOffsets) {
      return Unexpected("the number " + std::to_string(value));
    }
    if (!std::in_range<int64_t>(value)) {
      return Stop(
          fmt::format("tensor \"{}\": the number {} is not below 2^63", Printable(name_), value));
    }
    std::vector<int64_t>& list = place_ == Place::kShape ? entry_->shape : entry_->offsets;
    if (std::cmp_equal(list.size(), limits::kMaxTensorDimensions)) {
      return Stop(fmt::format("tensor \"{}\": more than {} numbers in one list", Printable(name_),
                              limits::kMaxTensorDimensions));
    }
    list.push_back(static_cast<int64_t>(value));
    return true;
  }
  bool string(std::string& value) override {
    if (place_ == Place::kMetadata) {
      metadata[field_] = value;
      return true;
    }
    if (place_ == Place::kTensor && field_ == "dtype") {
      entry_->dtype = value;
      return true;
    }
    return Unexpected("the text \"" + Printable(value) + "\"");
  }
  bool start_object(size_t) override {
    if (place_ == Place::kStart) {
      place_ = Place::kTop;
      return true;
    }
    if (place_ != Place::kTop) return Unexpected("an object");
    place_ = entry_ == nullptr ? Place::kMetadata : Place::kTensor;
    return true;
  }
  bool key(std::string& value) override {
    if (place_ == Place::kTop) {
      name_ = value;
      if (value == "__metadata__") {
        if (std::exchange(has_metadata_, true)) return Stop("\"__metadata__\" is given twice");
        entry_ = nullptr;
        return true;
      }
      const auto [found, added] = entries.try_emplace(value);
      if (!added) return Stop(fmt::format("tensor \"{}\" is given twice", Printable(value)));
      entry_ = &found->second;
      return true;
    }
    field_ = value;
    if (place_ == Place::kMetadata) {
      if (metadata.contains(value)) {
        return Stop(fmt::format("\"__metadata__\": \"{}\" is given twice", Printable(value)));
      }
      return true;
    }
    bool* seen = value == "dtype"          ? &entry_->has_dtype
                 : value == "shape"        ? &entry_->has_shape
                 : value == "data_offsets" ? &entry_->has_offsets
                                           : nullptr;
    if (seen == nullptr) {
      return Stop(
          fmt::format("tensor \"{}\": unknown field \"{}\", expected dtype, shape and "
                      "data_offsets",
                      Printable(name_), Printable(value)));
    }
    if (std::exchange(*seen, true)) {
      return Stop(fmt::format("tensor \"{}\": \"{}\" is given twice", Printable(name_), value));
    }
    return true;
  }
  bool end_object() override {
    place_ = place_ == Place::kTop ? Place::kEnd : Place::kTop;
    return true;
  }
  bool start_array(size_t) override {
    if (place_ == Place::kTensor && field_ == "shape") {
      place_ = Place::kShape;
    } else if (place_ == Place::kTensor && field_ == "data_offsets") {
      place_ = Place::kOffsets;
    } else {
      return Unexpected("a list");
    }
    return true;
  }
  bool end_array() override {
    place_ = Place::kTensor;
    return true;
  }
  bool parse_error(size_t position, const std::string&,
                   const nlohmann::json::exception& error) override {
    std::string_view reason = error.what();
    if (const size_t end = reason.find("] "); end != std::string_view::npos) {
      reason.remove_prefix(end + 2);
    }
    return Stop(fmt::format("the header is not valid JSON near its byte {}: {}", position,
                            reason.substr(0, 200)));
  }

 private:
  enum class Place { kStart, kTop, kTensor, kShape, kOffsets, kMetadata, kEnd };

  bool Stop(std::string text) {
    problem = std::move(text);
    return false;
  }
  bool Unexpected(const std::string& what) {
    if (place_ == Place::kStart)
      return Stop(fmt::format("the header is {}, expected an object", what));
    if (place_ == Place::kMetadata) {
      return Stop(
          fmt::format("\"__metadata__\": \"{}\" is {}, expected a text", Printable(field_), what));
    }
    if (place_ == Place::kTop) {
      return Stop(fmt::format("\"{}\" is {}, expected an object", Printable(name_), what));
    }
    return Stop(fmt::format("tensor \"{}\": {} in \"{}\", expected {}", Printable(name_), what,
                            Printable(field_),
                            field_ == "dtype" ? "a text" : "a list of whole numbers"));
  }

  Place place_ = Place::kStart;
  std::string name_, field_;
  Entry* entry_ = nullptr;
  bool has_metadata_ = false;
};

/// Bytes of a tensor, or nothing where the product overflows.
std::optional<int64_t> Bytes(const std::vector<int64_t>& shape, int64_t element_bytes) {
  int64_t bytes = element_bytes;
  for (const int64_t size : shape) {
    if (__builtin_mul_overflow(bytes, size, &bytes)) return std::nullopt;
  }
  return bytes;
}

TensorView CheckEntry(const std::string& name, const Entry& entry,
                      std::span<const std::byte> data) {
  const std::string shown = Printable(name);
  if (!entry.has_dtype || !entry.has_shape || !entry.has_offsets) {
    throw ModelError("tensor \"{}\": \"{}\" is missing", shown,
                     !entry.has_dtype   ? "dtype"
                     : !entry.has_shape ? "shape"
                                        : "data_offsets");
  }
  const ElementType* type = FindElementType(entry.dtype);
  if (type == nullptr) {
    throw ModelError(
        "tensor \"{}\": unknown dtype \"{}\", expected F32, F16, BF16 or another "
        "element type of the format",
        shown, Printable(entry.dtype));
  }
  if (entry.offsets.size() != 2) {
    throw ModelError("tensor \"{}\": data_offsets holds {} numbers, expected begin and end", shown,
                     entry.offsets.size());
  }
  const int64_t begin = entry.offsets[0], end = entry.offsets[1];
  if (begin > end || std::cmp_greater(end, data.size())) {
    throw ModelError("tensor \"{}\": data_offsets {}..{} are outside of the file's {} data bytes",
                     shown, begin, end, data.size());
  }
  const std::optional<int64_t> bytes = Bytes(entry.shape, type->bytes);
  if (!bytes) {
    throw ModelError("tensor \"{}\": the size of shape {} overflows 64 bits", shown,
                     ShapeText(entry.shape));
  }
  if (*bytes != end - begin) {
    throw ModelError("tensor \"{}\": {} {} needs {} bytes, but data_offsets {}..{} hold {}", shown,
                     entry.dtype, ShapeText(entry.shape), *bytes, begin, end, end - begin);
  }
  const std::byte* start = data.data() + begin;
  if (reinterpret_cast<uintptr_t>(start) % static_cast<uintptr_t>(type->bytes) != 0) {
    throw ModelError(
        "tensor \"{}\": its data starts at an address that is not a multiple of its "
        "element's {} bytes; save the file again with a current safetensors library",
        shown, type->bytes);
  }
  return {entry.dtype, type->dtype, entry.shape, start, *bytes};
}

}  // namespace

std::string ShapeText(const std::vector<int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

std::string Printable(std::string_view name) {
  std::string text(name.substr(0, 100));
  if (text.size() < name.size()) {
    // Not in the middle of a character.
    while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xC0) == 0x80) {
      text.pop_back();
    }
    if (!text.empty() && (text.back() & 0x80) != 0) text.pop_back();
    text += "...";
  }
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '?';
  }
  return text;
}

std::string_view SafetensorsName(core::DType dtype) {
  for (const ElementType& type : kElementTypes) {
    if (type.dtype == dtype) return type.name;
  }
  throw InternalError("no safetensors name for {}", core::Name(dtype));
}

std::optional<int64_t> SafetensorsElementBytes(std::string_view name) {
  const ElementType* type = FindElementType(name);
  return type == nullptr ? std::nullopt : std::optional(type->bytes);
}

SafetensorsHeader ParseSafetensors(std::span<const std::byte> file, std::string_view where) {
  return InContext(where, [&] {
    if (file.size() < 8) {
      throw ModelError("{} bytes, too short for a safetensors file", file.size());
    }
    uint64_t length = 0;
    for (size_t i = 0; i < 8; ++i) length |= std::to_integer<uint64_t>(file[i]) << (8 * i);
    if (std::cmp_greater(length, limits::kMaxSafetensorsHeader)) {
      throw ModelError(
          "the header's length is {} bytes, expected at most {}; this is not a "
          "safetensors file",
          length, limits::kMaxSafetensorsHeader);
    }
    if (length > file.size() - 8) {
      throw ModelError(
          "the header's length is {} bytes, but only {} follow; the file is cut short "
          "or not a safetensors file",
          length, file.size() - 8);
    }
    const std::string_view text(reinterpret_cast<const char*>(file.data()) + 8, length);
    if (!text.starts_with('{')) throw ModelError("the header doesn't start with '{{'");
    // The library takes a NUL for the end of the text, and would drop what follows.
    if (const size_t nul = text.find('\0'); nul != std::string_view::npos) {
      throw ModelError("the header is not valid JSON: a NUL at byte {} of it", nul);
    }
    HeaderEvents events;
    if (!nlohmann::json::sax_parse(text, &events)) throw ModelError("{}", events.problem);

    SafetensorsHeader header;
    header.metadata = std::move(events.metadata);
    const std::span<const std::byte> data = file.subspan(8 + length);
    std::vector<std::tuple<int64_t, int64_t, std::string_view>> order;  // begin, end, name
    for (const auto& [name, entry] : events.entries) {
      header.tensors.emplace(name, CheckEntry(name, entry, data));
      order.emplace_back(entry.offsets[0], entry.offsets[1], name);
    }
    std::ranges::sort(order);
    int64_t expected = 0;
    for (const auto& [begin, end, name] : order) {
      if (begin != expected) {
        throw ModelError("tensor \"{}\": its data starts at {}, expected {} ({})", Printable(name),
                         begin, expected,
                         begin < expected ? "it overlaps another tensor" : "a hole in the file");
      }
      expected = end;
    }
    if (std::cmp_not_equal(expected, data.size())) {
      throw ModelError("{} bytes of data follow the header, but its tensors hold {}", data.size(),
                       expected);
    }
    return header;
  });
}

}  // namespace natsl::model_adapters
