// What is known of a server: told by it, found by trying, or given by the user.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace natsl::model_adapters {

/// How a server gives log-probs of a text that it is given.
enum class LogprobForm {
  kNone,
  kPromptLogprobs,  ///< vLLM: "prompt_logprobs" of /completions, a map by token id a position
  kSglang,          ///< SGLang: /generate with "return_logprob", [log-prob, id, text] a position
  kEcho,    ///< OpenAI's old /completions: "echo" and "logprobs" (llama-cpp-python, TGI, ...)
  kForced,  ///< llama.cpp's server: each scored id is forced by "logit_bias" as the next one,
            ///< and its log-prob before the bias is read
};
const char* Name(LogprobForm form);

struct ServerFacts {
  std::string url;   ///< the OpenAI interface, "http://host/v1"
  std::string root;  ///< the server's own interface, "http://host"
  std::string model;
  std::string kind = "unknown";  ///< "vllm", "sglang", "llama.cpp", "llama-cpp-python", ...
  std::string version;
  bool chat = false;
  LogprobForm logprobs = LogprobForm::kNone;
  bool takes_ids = false;  ///< prompts of /completions as token ids
  std::string max_tokens_key = "max_tokens";
  int64_t context = 0;     ///< ids that the server can hold; 0: it doesn't tell
  int64_t vocabulary = 0;  ///< 0: it doesn't tell
  int64_t parameters = 0;
  /// Why forms of log-probs aren't used: "echo: HTTP 400: ...". For the error where none works.
  std::vector<std::string> refused;
};

/// Ids of the server's context that a scored request needs beside those that the model reads: the
/// last scored one, and the new one that a server insists on making.
int64_t SpareIds(LogprobForm form);

}  // namespace natsl::model_adapters
