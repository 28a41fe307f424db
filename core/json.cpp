// JSON at the edges.
#include "core/json.h"

#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include "core/files.h"
#include "core/utf8.h"

namespace natsl::core {
namespace {

/// Stops a parse at a depth limit or a repeated key, from inside nlohmann's callback.
struct ParseStop {
  std::string reason;
};

std::string PrintDouble(double value) {
  // Python's repr: the shortest digits that read back, exponent form from 1e16 on and below 1e-4.
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  const double magnitude = std::fabs(value);
  if (magnitude != 0 && (magnitude >= 1e16 || magnitude < 1e-4)) {
    std::string text = fmt::format("{:e}", value);
    for (int precision = 0; precision < 17; ++precision) {
      text = fmt::format("{:.{}e}", value, precision);
      if (std::strtod(text.c_str(), nullptr) == value) break;
    }
    return text;
  }
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

void Print(const Json& value, int indent, int level, std::string& out) {
  const auto new_line = [&](int at) {
    if (indent < 0) return;
    out += '\n';
    out.append(static_cast<size_t>(indent * at), ' ');
  };
  const char* separator = indent < 0 ? ", " : ",";
  if (value.is_object()) {
    out += '{';
    bool first = true;
    for (const auto& [key, item] : value.items()) {
      if (!first) out += separator;
      first = false;
      new_line(level + 1);
      out += Json(key).dump(-1, ' ', false);
      out += ": ";
      Print(item, indent, level + 1, out);
    }
    if (!first) new_line(level);
    out += '}';
  } else if (value.is_array()) {
    out += '[';
    bool first = true;
    for (const Json& item : value) {
      if (!first) out += separator;
      first = false;
      new_line(level + 1);
      Print(item, indent, level + 1, out);
    }
    if (!first) new_line(level);
    out += ']';
  } else if (value.is_number_float()) {
    out += PrintDouble(value.get<double>());
  } else {
    out += value.dump(-1, ' ', false);
  }
}

/// Python's bare NaN and infinities, outside of strings, as quoted markers that are put back after
/// the parse.
constexpr std::string_view kMarker = "\x01natsl-number:";

std::string QuotePythonNumbers(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      out += c;
      if (c == '\\' && i + 1 < text.size()) {
        out += text[++i];
      } else if (c == '"') {
        in_string = false;
      }
      continue;
    }
    if (c == '"') in_string = true;
    bool replaced = false;
    for (const std::string_view word : {"-Infinity", "Infinity", "NaN"}) {
      if (text.substr(i, word.size()) == word) {
        out += "\"\\u0001natsl-number:";
        out += word;
        out += '"';
        i += word.size() - 1;
        replaced = true;
        break;
      }
    }
    if (!replaced) out += c;
  }
  return out;
}

void RestorePythonNumbers(Json& value) {
  if (value.is_string()) {
    const std::string& text = value.get_ref<const std::string&>();
    if (!text.starts_with(kMarker)) return;
    const std::string word = text.substr(kMarker.size());
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    value = word == "NaN" ? std::nan("") : word == "Infinity" ? kInfinity : -kInfinity;
  } else if (value.is_structured()) {
    for (Json& item : value) RestorePythonNumbers(item);
  }
}

}  // namespace

Json ParseJson(std::string_view text, std::string_view where, ErrorCode code,
               const JsonOptions& options) {
  const size_t invalid = FindInvalidUtf8(text);
  if (invalid != std::string_view::npos) {
    throw Error(code, fmt::format("{}: not valid UTF-8 at byte {}, expected JSON", where, invalid));
  }
  // The library takes a NUL for the end of the text, and would drop what follows.
  if (const size_t nul = text.find('\0'); nul != std::string_view::npos) {
    throw Error(code, fmt::format("{}: not valid JSON: a NUL at byte {}", where, nul));
  }
  std::string quoted;
  if (options.python_numbers) {
    quoted = QuotePythonNumbers(text);
    text = quoted;
  }
  std::vector<std::set<std::string>> keys;
  const auto watch = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (depth > options.max_depth) {
      throw ParseStop{fmt::format("nested deeper than {} levels", options.max_depth)};
    }
    if (!options.unique_keys) return true;
    if (event == Json::parse_event_t::object_start) {
      keys.emplace_back();
    } else if (event == Json::parse_event_t::object_end) {
      keys.pop_back();
    } else if (event == Json::parse_event_t::key) {
      const std::string key = parsed.get<std::string>();
      if (!keys.back().insert(key).second) {
        throw ParseStop{fmt::format("the key \"{}\" is given twice in one object", key)};
      }
    }
    return true;
  };
  try {
    Json value = Json::parse(text, watch);
    if (options.python_numbers) RestorePythonNumbers(value);
    return value;
  } catch (const ParseStop& stop) {
    throw Error(code, fmt::format("{}: {}", where, stop.reason));
  } catch (const nlohmann::json::exception& error) {
    // The library's text starts with "[json.exception.parse_error.101] ".
    std::string_view reason = error.what();
    if (const size_t end = reason.find("] "); end != std::string_view::npos) {
      reason.remove_prefix(end + 2);
    }
    throw Error(code, fmt::format("{}: not valid JSON: {}", where, reason));
  }
}

Json ReadJsonFile(const std::filesystem::path& path, ErrorCode code, const JsonOptions& options) {
  return ParseJson(ReadFile(path, code), path.string(), code, options);
}

std::string Describe(const Json& value) {
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > 80) {
    size_t cut = 77;
    while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xC0) == 0x80) --cut;
    text = text.substr(0, cut) + "...";
  }
  return fmt::format("{} ({})", text, value.type_name());
}

std::string PythonJson(const Json& value, int indent) {
  std::string out;
  Print(value, indent, 0, out);
  return out;
}

JsonObject::JsonObject(const Json& value, std::string where, ErrorCode code)
    : value_(&value), where_(std::move(where)), code_(code) {
  if (!value.is_object()) {
    throw Error(code_, fmt::format("{}: {}, expected an object", where_, Describe(value)));
  }
}

bool JsonObject::Has(std::string_view key) const {
  const auto found = value_->find(key);
  return found != value_->end() && !found->is_null();
}

const Json& JsonObject::At(std::string_view key) const {
  const auto found = value_->find(key);
  if (found == value_->end()) {
    throw Error(code_, fmt::format("{}: the field \"{}\" is missing", where_, key));
  }
  return *found;
}

Error JsonObject::Wrong(std::string_view key, std::string_view expected) const {
  return Error(code_, fmt::format("{}: \"{}\" is {}, expected {}", where_, key, Describe(At(key)),
                                  expected));
}

std::string JsonObject::String(std::string_view key) const {
  const Json& value = At(key);
  if (!value.is_string()) throw Wrong(key, "a string");
  return value.get<std::string>();
}

int64_t JsonObject::Int(std::string_view key) const {
  const Json& value = At(key);
  if (value.is_number_unsigned()) {
    const uint64_t number = value.get<uint64_t>();
    if (number > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      throw Wrong(key, "an integer below 2^63");
    }
    return static_cast<int64_t>(number);
  }
  if (value.is_number_integer()) return value.get<int64_t>();
  if (value.is_number_float()) {
    const double number = value.get<double>();
    if (std::fabs(number) < 9007199254740992.0 && std::trunc(number) == number) {
      return static_cast<int64_t>(number);
    }
  }
  throw Wrong(key, "an integer");
}

double JsonObject::Double(std::string_view key) const {
  const Json& value = At(key);
  if (!value.is_number()) throw Wrong(key, "a number");
  return value.get<double>();
}

bool JsonObject::Bool(std::string_view key) const {
  const Json& value = At(key);
  if (!value.is_boolean()) throw Wrong(key, "true or false");
  return value.get<bool>();
}

std::vector<std::string> JsonObject::Strings(std::string_view key) const {
  const Json& value = At(key);
  if (!value.is_array()) throw Wrong(key, "a list of strings");
  std::vector<std::string> strings;
  for (const Json& item : value) {
    if (!item.is_string()) throw Wrong(key, "a list of strings");
    strings.push_back(item.get<std::string>());
  }
  return strings;
}

JsonObject JsonObject::Object(std::string_view key) const {
  return JsonObject(At(key), fmt::format("{}: \"{}\"", where_, key), code_);
}

}  // namespace natsl::core
