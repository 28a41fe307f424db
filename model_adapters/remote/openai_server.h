// A server with OpenAI's interface: the connection, what was found out about it, and runs of many
// requests.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/clock.h"
#include "model_adapters/language_model.h"
#include "model_adapters/remote/model_string.h"
#include "model_adapters/remote/request_pool.h"
#include "model_adapters/remote/server_facts.h"

namespace natsl::model_adapters {

/// What a run of `count` requests does with each. What throws an Error makes that request fail.
struct RunSteps {
  std::function<HttpRequest(size_t)> make;
  /// Reads an answer; returns the tokens that it cost.
  std::function<int64_t(size_t, const std::string&)> read;
  std::function<void(size_t, const std::string&)> fail;
};

class OpenAiServer {
 public:
  OpenAiServer(const ServedOptions& options, std::unique_ptr<Transport> transport,
               const core::Clock& clock, uint64_t seed);

  const ServedOptions& options() const { return options_; }
  ServerFacts& facts() { return facts_; }
  const ServerFacts& facts() const { return facts_; }

  /// One request by itself, with retries as in a run but few and short. Throws Error (model) where
  /// the server refuses the key or can't be reached.
  HttpAnswer Ask(const HttpRequest& request);
  /// Runs the requests that the listener wants. `listener` sees them as they end.
  void Run(size_t count, BatchListener& listener, const RunSteps& steps);
  std::vector<std::string> Notes() const;

 private:
  ServedOptions options_;
  std::unique_ptr<Transport> transport_;
  const core::Clock& clock_;
  RequestPool pool_;
  ServerFacts facts_;
};

}  // namespace natsl::model_adapters
