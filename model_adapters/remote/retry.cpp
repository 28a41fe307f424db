#include "model_adapters/remote/retry.h"

#include <algorithm>

#include "core/json.h"
#include "core/limits.h"
#include "core/utf8.h"

namespace natsl::model_adapters {
namespace {

using core::Json;

std::string Quoted(const std::string& text) {
  std::string line;
  for (size_t at = 0; at < text.size();) {
    const char32_t c = core::NextCodePoint(text, at);
    if (c < 0x20 || c == 0x7F) {
      if (!line.empty() && line.back() != ' ') line += ' ';
    } else {
      core::AppendUtf8(line, c);
    }
    if (static_cast<int64_t>(line.size()) > limits::kMaxQuotedBytes) return line + "...";
  }
  return line;
}

}  // namespace

std::string ErrorMessage(const std::string& body) {
  Json json;
  try {
    json = core::ParseJson(body, "answer", ErrorCode::kModel, {.max_depth = limits::kMaxRemoteJsonDepth});
  } catch (const Error&) {
    return Quoted(body);
  }
  const Json* found = &json;
  for (const char* key : {"error", "message"}) {
    if (found->is_object() && found->contains(key)) found = &(*found)[key];
  }
  if (found == &json && json.is_object() && json.contains("detail")) found = &json["detail"];
  return Quoted(found->is_string() ? found->get<std::string>() : found->dump());
}

Judgement Judge(const HttpAnswer& answer) {
  if (!answer.failure.empty()) {
    return {answer.transient ? Verdict::kAgain : Verdict::kFailed, answer.failure, answer.failure};
  }
  const int status = answer.status;
  if (status >= 200 && status < 300) return {};
  const std::string kind = fmt::format("HTTP {}", status);
  std::string reason = kind;
  if (const std::string message = ErrorMessage(answer.body); !message.empty()) {
    reason += ": " + message;
  }
  if (status >= 300 && status < 400) {
    return {Verdict::kFailed, kind + ": redirects aren't followed; give the final address", kind};
  }
  if (status == 401) return {Verdict::kRefused, reason, kind};
  const bool again = status == 408 || status == 429 || status >= 500;
  return {again ? Verdict::kAgain : Verdict::kFailed, reason, kind};
}

int64_t BackoffMs(const RetryPolicy& policy, int attempt, double jitter,
                  std::optional<int64_t> retry_after_ms) {
  int64_t full = policy.base_ms;
  for (int i = 1; i < attempt && full < policy.cap_ms; ++i) full *= 2;
  full = std::min(full, policy.cap_ms);
  const auto wait = static_cast<int64_t>(static_cast<double>(full) * (0.5 + 0.5 * jitter));
  return std::max(wait, std::min(retry_after_ms.value_or(0), limits::kMaxRetryAfterMs));
}

}  // namespace natsl::model_adapters
