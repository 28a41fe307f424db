// Typed access to config.json.
#include "model_adapters/spec/config_reader.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/json.h"

namespace natsl::model_adapters {

using core::Json;

ConfigReader::ConfigReader(const Json& object, std::string where)
    : object_(&object), where_(std::move(where)) {
  if (!object.is_object()) {
    throw ModelError("{}: {}, expected an object", where_, core::Describe(object));
  }
}

const Json* ConfigReader::Find(std::string_view key) {
  read_.emplace(key);
  const auto found = object_->find(key);
  return found == object_->end() ? nullptr : &*found;
}

bool ConfigReader::Has(std::string_view key) const { return object_->contains(key); }

bool ConfigReader::HasValue(std::string_view key) const {
  const auto found = object_->find(key);
  return found != object_->end() && !found->is_null();
}

const Json& ConfigReader::Raw(std::string_view key) {
  const Json* value = Find(key);
  if (value == nullptr) throw ModelError("{}: the field \"{}\" is missing", where_, key);
  return *value;
}

Error ConfigReader::Wrong(std::string_view key, std::string_view expected) const {
  const auto found = object_->find(key);
  return ModelError("{}: \"{}\" is {}, expected {}", where_, key,
                    found == object_->end() ? "missing" : core::Describe(*found), expected);
}

Error ConfigReader::Unsupported(std::string_view key,
                                std::span<const std::string_view> supported) const {
  const auto found = object_->find(key);
  return ModelError("{}: \"{}\" is {}, which is not supported; supported: {}", where_, key,
                    found == object_->end() ? "missing" : core::Describe(*found),
                    fmt::join(supported, ", "));
}

int64_t ConfigReader::Int(std::string_view key, int64_t absent, int64_t low, int64_t high) {
  const Json* value = Find(key);
  if (value == nullptr) return absent;
  int64_t number = 0;
  bool whole = false;
  if (value->is_number_unsigned()) {
    whole = std::in_range<int64_t>(value->get<uint64_t>());
    if (whole) number = static_cast<int64_t>(value->get<uint64_t>());
  } else if (value->is_number_integer()) {
    whole = true;
    number = value->get<int64_t>();
  } else if (value->is_number_float()) {
    const double real = value->get<double>();
    whole = std::fabs(real) < 9007199254740992.0 && std::trunc(real) == real;
    if (whole) number = static_cast<int64_t>(real);
  }
  if (!whole || number < low || number > high) {
    throw Wrong(key, fmt::format("a whole number from {} to {}", low, high));
  }
  return number;
}

std::optional<int64_t> ConfigReader::OptionalInt(std::string_view key,
                                                 std::optional<int64_t> absent, int64_t low,
                                                 int64_t high) {
  const Json* value = Find(key);
  if (value == nullptr) return absent;
  if (value->is_null()) return std::nullopt;
  return Int(key, 0, low, high);
}

double ConfigReader::Double(std::string_view key, double absent, double low, double high) {
  const Json* value = Find(key);
  if (value == nullptr) return absent;
  const double number = value->is_number() ? value->get<double>() : std::nan("");
  if (!(number >= low && number <= high)) {
    throw Wrong(key, fmt::format("a number from {} to {}", low, high));
  }
  return number;
}

std::optional<double> ConfigReader::OptionalDouble(std::string_view key,
                                                   std::optional<double> absent, double low,
                                                   double high) {
  const Json* value = Find(key);
  if (value == nullptr) return absent;
  if (value->is_null()) return std::nullopt;
  return Double(key, 0, low, high);
}

bool ConfigReader::Bool(std::string_view key, bool absent) {
  const Json* value = Find(key);
  if (value == nullptr) return absent;
  if (!value->is_boolean()) throw Wrong(key, "true or false");
  return value->get<bool>();
}

std::string ConfigReader::Text(std::string_view key, std::string_view absent) {
  const Json* value = Find(key);
  if (value == nullptr) return std::string(absent);
  if (!value->is_string()) throw Wrong(key, "a text");
  return value->get<std::string>();
}

std::vector<int64_t> ConfigReader::Ints(std::string_view key, const std::vector<int64_t>& absent,
                                        int64_t low, int64_t high) {
  const Json* value = Find(key);
  if (value == nullptr || value->is_null()) return absent;
  const std::string expected = fmt::format("a list of whole numbers from {} to {}", low, high);
  if (!value->is_array() || std::cmp_greater(value->size(), kMaxLayers)) throw Wrong(key, expected);
  std::vector<int64_t> numbers;
  for (const Json& item : *value) {
    if (!item.is_number_integer() || item.is_number_float()) throw Wrong(key, expected);
    const bool fits = !item.is_number_unsigned() || std::in_range<int64_t>(item.get<uint64_t>());
    const int64_t number = fits ? item.get<int64_t>() : -1;
    if (!fits || number < low || number > high) throw Wrong(key, expected);
    numbers.push_back(number);
  }
  return numbers;
}

std::vector<std::string> ConfigReader::Texts(std::string_view key) {
  const Json& value = Raw(key);
  std::vector<std::string> texts;
  if (!value.is_array()) throw Wrong(key, "a list of texts");
  for (const Json& item : value) {
    if (!item.is_string()) throw Wrong(key, "a list of texts");
    texts.push_back(item.get<std::string>());
  }
  return texts;
}

void ConfigReader::Require(std::string_view key, bool only) {
  const Json* value = Find(key);
  if (value == nullptr || value->is_null()) return;
  if (!value->is_boolean()) throw Wrong(key, "true or false");
  const std::string_view supported[] = {only ? "true" : "false"};
  if (value->get<bool>() != only) throw Unsupported(key, supported);
}

void ConfigReader::RequireNull(std::string_view key, std::string_view why) {
  const Json* value = Find(key);
  if (value == nullptr || value->is_null()) return;
  throw ModelError("{}: \"{}\" is {}, which is not supported ({}); supported: null", where_, key,
                   core::Describe(*value), why);
}

void ConfigReader::Inert(std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) read_.emplace(key);
}

std::vector<std::string> ConfigReader::Unread() const {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object_->items()) {
    if (!read_.contains(key)) keys.push_back(key);
  }
  return keys;
}

int64_t CheckedProduct(const ConfigReader& config, std::string_view what, int64_t a, int64_t b) {
  int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product) || product > kMaxProduct) {
    throw ModelError("{}: {} is {} times {}, expected at most 2^40", config.where(), what, a, b);
  }
  return product;
}

int64_t CheckedQuotient(const ConfigReader& config, std::string_view a_name, int64_t a,
                        std::string_view b_name, int64_t b) {
  if (b <= 0 || a % b != 0) {
    throw ModelError("{}: {} is {}, expected a multiple of {} ({})", config.where(), a_name, a,
                     b_name, b);
  }
  return a / b;
}

int64_t Scaled(const ConfigReader& config, std::string_view what, int64_t size, double ratio) {
  const double product = std::floor(static_cast<double>(size) * ratio);
  if (!(product >= 1 && product <= static_cast<double>(kMaxSize))) {
    throw ModelError("{}: {} is {} times {}, expected 1 to {}", config.where(), what, size, ratio,
                     kMaxSize);
  }
  return static_cast<int64_t>(product);
}

}  // namespace natsl::model_adapters
