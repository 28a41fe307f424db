// JSON at the edges: parsing files and lines of others with errors that say where, and typed access
// to fields. Include <nlohmann/json_fwd.hpp> in headers, this file only in sources that parse.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace natsl::core {

using Json = nlohmann::ordered_json;

/// How a text is parsed.
struct JsonOptions {
  int max_depth = 128;          ///< deeper nesting is an error
  bool python_numbers = false;  ///< accept Python's bare NaN, Infinity and -Infinity as numbers
  bool unique_keys = false;     ///< a key given twice in one object is an error
};

/// Parses one JSON document. `where` names the text in errors ("config.json", "valid.jsonl:812").
/// Text that isn't valid UTF-8 is an error. Throws Error(code).
Json ParseJson(std::string_view text, std::string_view where, ErrorCode code,
               const JsonOptions& options = {});

/// Parses a whole file.
Json ReadJsonFile(const std::filesystem::path& path, ErrorCode code,
                  const JsonOptions& options = {});

/// A JSON object and where it came from: typed fields with errors like
/// `piqa/valid.jsonl:812: "label" is "two" (string), expected an integer`.
class JsonObject {
 public:
  /// Throws Error(code) where `value` isn't an object. `value` must outlive this.
  JsonObject(const Json& value, std::string where, ErrorCode code);

  bool Has(std::string_view key) const;  ///< present and not null
  const Json& At(std::string_view key) const;
  std::string String(std::string_view key) const;
  int64_t Int(std::string_view key) const;  ///< 2.0 is accepted as 2
  double Double(std::string_view key) const;
  bool Bool(std::string_view key) const;
  std::vector<std::string> Strings(std::string_view key) const;
  JsonObject Object(std::string_view key) const;

  const Json& json() const { return *value_; }
  const std::string& where() const { return where_; }
  /// An Error of this object's code: "where: \"key\" is VALUE, expected EXPECTED".
  Error Wrong(std::string_view key, std::string_view expected) const;

 private:
  const Json* value_;
  std::string where_;
  ErrorCode code_;
};

/// A value for an error message: its JSON text, shortened, and its type.
std::string Describe(const Json& value);

/// JSON text as Python's json.dumps(value, ensure_ascii=False) writes it ("a": 1, separators with
/// a space; floats by repr). indent < 0: one line; otherwise that many spaces a level.
std::string PythonJson(const Json& value, int indent = -1);

}  // namespace natsl::core
