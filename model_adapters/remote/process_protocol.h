// The lines that natsl-bench and a model process exchange: docs/process_protocol.md. No processes
// here. What the process writes is checked; what is wrong with a line as a whole is a
// ProtocolError (nothing from this process can be trusted), what is wrong with an answer to a known
// request is an Error (model) of that request.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "model_adapters/language_model.h"

namespace natsl::model_adapters {

class ProtocolError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct ProcessHello {
  std::string name, version, dtype, device;
  std::string fingerprint, tokenizer_fingerprint;
  int64_t max_length = 0, vocabulary = 0, parameters = 0;
  int64_t in_flight = 0;  ///< most requests that it wants at once; 0: it doesn't say
  bool loglikelihood = false, rolling = false, generate = false, count_tokens = false;
};

struct CountTokensRequest {
  std::string text;
};
using ProcessRequest =
    std::variant<LoglikelihoodRequest, RollingRequest, GenerateRequest, CountTokensRequest>;

ProcessHello ReadHello(const std::string& line);
std::string WriteRequest(int64_t id, const ProcessRequest& request);

/// A line that answers some request: which one, and its text for the functions below.
struct ProcessAnswer {
  int64_t id = 0;
  std::string line;
};
ProcessAnswer ReadAnswerId(const std::string& line);

/// Each fills the result, its `error` where the process says so.
void ReadResult(const ProcessAnswer& answer, LoglikelihoodResult& result);
void ReadResult(const ProcessAnswer& answer, RollingResult& result);
void ReadResult(const ProcessAnswer& answer, GenerateResult& result);
int64_t ReadTokenCount(const ProcessAnswer& answer);

}  // namespace natsl::model_adapters
