// When a request to a served model is sent again, and after how long. Pure functions: no clock, no
// network.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace natsl::model_adapters {

/// What came of one attempt.
struct HttpAnswer {
  int status = 0;  ///< 0: no answer came
  std::string body;
  std::optional<int64_t> retry_after_ms;
  std::string failure;     ///< of the transport, in words; "" where an answer came
  bool transient = false;  ///< the failure may be gone at the next attempt
};

struct RetryPolicy {
  int64_t timeout_ms = 300'000;  ///< of one attempt
  int64_t budget_ms = 900'000;   ///< of one request, with all its attempts and waits
  int attempts = 8;
  int64_t base_ms = 500;    ///< first wait
  int64_t cap_ms = 60'000;  ///< longest wait, unless the server asks for more
};

enum class Verdict {
  kDone,    ///< 2xx
  kAgain,   ///< 408, 429, 5xx, time-out, lost or cut connection
  kFailed,  ///< the request is at fault, or the answer can't be used: no attempt would help
  kRefused  ///< 401: no request will be answered
};
struct Judgement {
  Verdict verdict = Verdict::kDone;
  std::string reason;  ///< "HTTP 429: slow down"; "" where done
  std::string kind;    ///< "HTTP 429", "time-out", ...: for counting
};
Judgement Judge(const HttpAnswer& answer);

/// The wait before attempt `attempt` + 1 (the first is 1): doubled each time, up to the cap, by
/// half or more of it as `jitter` in [0, 1) says; never less than what the server asked for.
int64_t BackoffMs(const RetryPolicy& policy, int attempt, double jitter,
                  std::optional<int64_t> retry_after_ms);

/// The message of an error body: OpenAI's {"error": {"message": ..}}, FastAPI's {"detail": ..},
/// else the start of the text, on one line.
std::string ErrorMessage(const std::string& body);

}  // namespace natsl::model_adapters
