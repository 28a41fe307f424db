// The model strings of models that run elsewhere:
//   openai:URL[,key=value...]        a server with OpenAI's interface (docs/served_models.md)
//   process:[key=value ...]CMD ARGS  a process of our own (docs/process_protocol.md)
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model_adapters/remote/retry.h"

namespace natsl::model_adapters {

inline constexpr std::string_view kOpenAiPrefix = "openai:";
inline constexpr std::string_view kProcessPrefix = "process:";

/// Whether the model runs elsewhere.
bool IsRemote(std::string_view model);

struct ServedOptions {
  std::string url;                ///< of the interface, as in "http://host:8000/v1"; no "/" behind
  std::string model;              ///< "": the only one that the server lists
  bool chat = false;              ///< api=chat
  std::string tokenizer;          ///< folder or file; "": none
  std::string logprobs = "auto";  ///< auto, prompt_logprobs, sglang, echo, forced, none
  std::string prompts = "auto";   ///< auto, ids, text
  std::string key_env, key_file;  ///< where the key is; both "": no key is sent
  std::string ca_file;
  std::optional<int64_t> max_length;
  int64_t in_flight = 8;
  RetryPolicy retry;
};

/// Throws Error (usage): an unknown key (the known ones are listed), a value out of range, a key or
/// password in the string itself (its text isn't shown).
ServedOptions ParseServed(std::string_view model);

struct ProcessOptions {
  std::vector<std::string> command;
  int64_t timeout_ms = 600'000;  ///< longest silence while requests are open
  int64_t start_ms = 600'000;    ///< until the process says hello
  int64_t restarts = 5;          ///< deaths in a row, with no answer in between
  int64_t in_flight = 16;
};

/// Words as a shell splits them: white space, '...', "..." and \. Nothing is expanded.
ProcessOptions ParseProcess(std::string_view model);

/// The key of the variable or the file, without white space around it; "" where neither is named.
/// Throws Error (usage): missing, empty, too large, or with characters that a header can't hold.
std::string ReadKey(const ServedOptions& options);

/// Splits "A,B" of checked:A,B. The options of an openai: model stay with it.
std::vector<std::string> SplitModels(std::string_view list);

}  // namespace natsl::model_adapters
