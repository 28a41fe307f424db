#include "cli/settings.h"

#include <CLI/CLI.hpp>
#include <charconv>

#include "core/json.h"

namespace natsl::cli {
namespace {

using core::Json;

/// A value's text as JSON: numbers stay numbers, nothing is null.
Json ToJson(const std::string& text) {
  if (text.empty()) return nullptr;
  const char* end = text.data() + text.size();
  int64_t integer = 0;
  if (const auto [at, error] = std::from_chars(text.data(), end, integer);
      error == std::errc() && at == end) {
    return integer;
  }
  double real = 0;
  if (const auto [at, error] = std::from_chars(text.data(), end, real);
      error == std::errc() && at == end) {
    return real;
  }
  return text;
}

std::string ArgumentText(const Json& value, const std::string& where) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number()) return value.dump();
  if (value.is_array()) {
    std::string joined;
    for (const Json& item : value) {
      joined += (joined.empty() ? "" : ",") + ArgumentText(item, where);
    }
    return joined;
  }
  throw UsageError("{}: {} is not a value of an option", where, core::Describe(value));
}

bool Given(const std::vector<std::string>& arguments, const std::string& option) {
  for (const std::string& argument : arguments) {
    if (argument == option || argument.starts_with(option + "=")) return true;
  }
  return false;
}

}  // namespace

std::vector<std::string> ExpandSettingsFile(const std::vector<std::string>& arguments,
                                            std::set<std::string>& from_file) {
  const std::string flag = "--settings";
  std::vector<std::string> expanded;
  std::string file;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == flag) {
      if (i + 1 == arguments.size()) throw UsageError("--settings needs a file");
      file = arguments[++i];
    } else if (arguments[i].starts_with(flag + "=")) {
      file = arguments[i].substr(flag.size() + 1);
    } else {
      expanded.push_back(arguments[i]);
    }
  }
  if (file.empty()) return expanded;
  const Json json = core::ReadJsonFile(file, ErrorCode::kUsage, {.unique_keys = true});
  const core::JsonObject object(json, file, ErrorCode::kUsage);
  const std::vector<std::string> typed = expanded;
  for (const auto& [key, value] : object.json().items()) {
    const std::string option = "--" + key;
    if (Given(typed, option) || value.is_null()) continue;
    if (value.is_boolean()) {
      if (value.get<bool>()) expanded.push_back(option);
    } else if (const std::string text = ArgumentText(value, fmt::format("{}: \"{}\"", file, key));
               text.empty()) {
      expanded.insert(expanded.end(), {option, text});
    } else {
      // One argument: what the option doesn't take is its own fault then, not the next one's.
      expanded.push_back(option + "=" + text);
    }
    from_file.insert(key);
  }
  return expanded;
}

std::vector<reports::Setting> CollectSettings(const CLI::App& app,
                                              const std::set<std::string>& from_file,
                                              const std::set<std::string>& excluded) {
  std::vector<reports::Setting> settings;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_lnames().empty()) continue;
    const std::string name = option->get_lnames().front();
    if (name == "help" || excluded.contains(name)) continue;
    const bool flag = option->get_expected_max() == 0;
    Json value;
    if (flag) {
      value = option->count() > 0;
    } else if (option->count() > 0) {
      std::string text;
      for (const std::string& part : option->results()) text += (text.empty() ? "" : ",") + part;
      value = ToJson(text);
    } else {
      value = ToJson(option->get_default_str());
    }
    settings.push_back({name, core::PythonJson(value),
                        option->count() == 0       ? "default"
                        : from_file.contains(name) ? "file"
                                                   : "flag"});
  }
  return settings;
}

}  // namespace natsl::cli
