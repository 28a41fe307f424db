#include "model_adapters/remote/model_string.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>

#include "core/error.h"
#include "core/files.h"
#include "core/limits.h"
#include "core/utf8.h"

namespace natsl::model_adapters {
namespace {

constexpr int64_t kMaxInFlight = 1024;
constexpr int64_t kMaxSeconds = 7 * 24 * 3600;
constexpr std::string_view kServedKeys =
    "model, api, tokenizer, logprobs, prompts, key_env, key_file, ca, max_length, in_flight, "
    "timeout, budget, attempts";
constexpr std::string_view kProcessKeys = "timeout, start, restarts, in_flight";

bool IsOptionName(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; });
}

int64_t Number(std::string_view key, std::string_view text, int64_t least, int64_t most) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most) {
    throw UsageError("--model: {}={}: expected a whole number from {} to {}", key, text, least,
                     most);
  }
  return value;
}

int64_t Milliseconds(std::string_view key, std::string_view text) {
  double seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || end != text.data() + text.size() || !(seconds >= 0.001) ||
      seconds > static_cast<double>(kMaxSeconds)) {
    throw UsageError("--model: {}={}: expected seconds from 0.001 to {}", key, text, kMaxSeconds);
  }
  return static_cast<int64_t>(seconds * 1000);
}

std::string OneOf(std::string_view key, std::string_view text,
                  std::initializer_list<std::string_view> allowed) {
  std::string list;
  for (const std::string_view value : allowed) {
    if (value == text) return std::string(text);
    list += (list.empty() ? "" : ", ") + std::string(value);
  }
  throw UsageError("--model: {}={}: expected one of {}", key, text, list);
}

/// Names under which people give keys. A key on a command line is seen by every user of a machine
/// and ends in reports, so it is refused, without showing it.
void RefuseSecret(std::string_view name) {
  static constexpr std::array<std::string_view, 7> kNames = {
      "key", "api_key", "apikey", "token", "password", "secret", "bearer"};
  if (std::find(kNames.begin(), kNames.end(), name) == kNames.end()) return;
  throw UsageError(
      "--model: {}=... : a key isn't taken from the command line, where others can read it; put it "
      "into an environment variable (key_env=NAME) or a file (key_file=PATH)",
      name);
}

std::string CheckedUrl(std::string_view url) {
  const size_t scheme = url.starts_with("http://") ? 7 : url.starts_with("https://") ? 8 : 0;
  const size_t host_end = std::min(url.find('/', scheme), url.size());
  const std::string_view host = url.substr(scheme, host_end - scheme);
  // Before anything that shows the address: it may hold a password.
  if (url.find_first_of("@?#") != std::string_view::npos) {
    throw UsageError(
        "--model openai:... : the address holds a user, a password or a query (it isn't shown); "
        "expected http[s]://HOST[:PORT]/PATH, and keys by key_env=NAME or key_file=PATH");
  }
  if (scheme == 0 || host.empty() || url.find_first_of(" \t\r\n") != std::string_view::npos) {
    throw UsageError(
        "--model openai:{}: expected http[s]://HOST[:PORT]/PATH, as in "
        "openai:http://localhost:8000/v1,model=NAME",
        url);
  }
  while (url.ends_with('/')) url.remove_suffix(1);
  return std::string(url);
}

void SetServed(ServedOptions& out, std::string_view key, std::string_view value) {
  RefuseSecret(key);
  if (key == "model") {
    out.model = value;
  } else if (key == "api") {
    out.chat = OneOf(key, value, {"completions", "chat"}) == "chat";
  } else if (key == "tokenizer") {
    out.tokenizer = value;
  } else if (key == "logprobs") {
    out.logprobs =
        OneOf(key, value, {"auto", "prompt_logprobs", "sglang", "echo", "forced", "none"});
  } else if (key == "prompts") {
    out.prompts = OneOf(key, value, {"auto", "ids", "text"});
  } else if (key == "key_env") {
    out.key_env = value;
  } else if (key == "key_file") {
    out.key_file = value;
  } else if (key == "ca") {
    out.ca_file = value;
  } else if (key == "max_length") {
    out.max_length = Number(key, value, 4, int64_t{1} << 30);
  } else if (key == "in_flight") {
    out.in_flight = Number(key, value, 1, kMaxInFlight);
  } else if (key == "timeout") {
    out.retry.timeout_ms = Milliseconds(key, value);
  } else if (key == "budget") {
    out.retry.budget_ms = Milliseconds(key, value);
  } else if (key == "attempts") {
    out.retry.attempts = static_cast<int>(Number(key, value, 1, 1000));
  } else {
    throw UsageError("--model openai:...: unknown option \"{}\"; known: {}", key, kServedKeys);
  }
}

/// Splits off the first word; false at the end.
bool TakeWord(std::string_view& text, std::string& word) {
  constexpr std::string_view kSpace = " \t\r\n";
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return false;
  word.clear();
  char quote = 0;
  size_t at = begin;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (quote == 0 && kSpace.find(c) != std::string_view::npos) break;
    if (c == '\\' && quote != '\'') {
      if (++at == text.size()) throw UsageError("--model process:...: ends with a lone \"\\\"");
      word += text[at];
    } else if (quote != 0 ? c == quote : (c == '\'' || c == '"')) {
      quote = quote != 0 ? '\0' : c;
    } else {
      word += c;
    }
  }
  if (quote != 0) throw UsageError("--model process:...: a quote ({}) isn't closed", quote);
  text.remove_prefix(at);
  return true;
}

/// Sets an option; false where the word isn't one.
bool SetProcess(ProcessOptions& out, const std::string& word) {
  const size_t equals = word.find('=');
  if (equals == std::string::npos || !IsOptionName(word.substr(0, equals))) return false;
  const std::string_view key = std::string_view(word).substr(0, equals);
  const std::string_view value = std::string_view(word).substr(equals + 1);
  if (key == "timeout") {
    out.timeout_ms = Milliseconds(key, value);
  } else if (key == "start") {
    out.start_ms = Milliseconds(key, value);
  } else if (key == "restarts") {
    out.restarts = Number(key, value, 0, 1000);
  } else if (key == "in_flight") {
    out.in_flight = Number(key, value, 1, kMaxInFlight);
  } else {
    throw UsageError("--model process:...: unknown option \"{}\"; known: {}", key, kProcessKeys);
  }
  return true;
}

}  // namespace

bool IsRemote(std::string_view model) {
  return model.starts_with(kOpenAiPrefix) || model.starts_with(kProcessPrefix);
}

ServedOptions ParseServed(std::string_view model) {
  model.remove_prefix(kOpenAiPrefix.size());
  ServedOptions out;
  for (bool first = true; first || !model.empty(); first = false) {
    const size_t comma = std::min(model.find(','), model.size());
    const std::string_view part = model.substr(0, comma);
    model.remove_prefix(std::min(comma + 1, model.size()));
    if (first) {
      out.url = CheckedUrl(part);
      continue;
    }
    const size_t equals = part.find('=');
    if (equals == std::string_view::npos || equals == 0) {
      throw UsageError("--model openai:...: an option isn't of the form key=value; known keys: {}",
                       kServedKeys);
    }
    SetServed(out, part.substr(0, equals), part.substr(equals + 1));
  }
  if (!out.key_env.empty() && !out.key_file.empty()) {
    throw UsageError("--model openai:...: both key_env and key_file are given; expected one");
  }
  if (out.prompts == "ids" && out.tokenizer.empty() && !out.chat) {
    throw UsageError("--model openai:...: prompts=ids needs a tokenizer; add tokenizer=FOLDER");
  }
  return out;
}

ProcessOptions ParseProcess(std::string_view model) {
  model.remove_prefix(kProcessPrefix.size());
  ProcessOptions out;
  std::string word;
  while (TakeWord(model, word)) {
    if (out.command.empty() && SetProcess(out, word)) continue;
    out.command.push_back(word);
  }
  if (out.command.empty() || out.command.front().empty()) {
    throw UsageError(
        "--model process: names no command, as in --model \"process:python3 model.py\"");
  }
  return out;
}

std::string ReadKey(const ServedOptions& options) {
  std::string key, where;
  if (!options.key_env.empty()) {
    where = "the environment variable " + options.key_env;
    const char* value = std::getenv(options.key_env.c_str());
    if (value == nullptr) throw UsageError("--model: {} isn't set (key_env)", where);
    key = value;
  } else if (!options.key_file.empty()) {
    where = options.key_file;
    key = core::ReadFile(options.key_file, ErrorCode::kUsage, limits::kMaxKeyBytes);
  } else {
    return "";
  }
  key = std::string(core::PythonStrip(key));
  if (key.empty()) throw UsageError("--model: {} is empty, expected a key", where);
  const bool plain =
      std::all_of(key.begin(), key.end(), [](unsigned char c) { return c > 0x20 && c < 0x7F; });
  if (!plain || static_cast<int64_t>(key.size()) > limits::kMaxKeyBytes) {
    throw UsageError(
        "--model: {} holds no key: expected one line of at most {} ASCII characters without spaces",
        where, limits::kMaxKeyBytes);
  }
  return key;
}

std::vector<std::string> SplitModels(std::string_view list) {
  std::vector<std::string> models;
  while (!list.empty()) {
    const size_t comma = std::min(list.find(','), list.size());
    const std::string_view part = list.substr(0, comma);
    list.remove_prefix(std::min(comma + 1, list.size()));
    const bool option = !models.empty() && models.back().starts_with(kOpenAiPrefix) &&
                        IsOptionName(part.substr(0, part.find('=')));
    if (option && part.find('=') != std::string_view::npos) {
      models.back() += ",";
      models.back() += part;
    } else {
      models.emplace_back(part);
    }
  }
  return models;
}

}  // namespace natsl::model_adapters
