#include "model_adapters/remote/openai_server.h"

#include <algorithm>

#include "core/error.h"

namespace natsl::model_adapters {
namespace {

constexpr int kAskAttempts = 4;
constexpr int64_t kAskBaseMs = 250;

/// Passes a pool's events on to a listener, a batch a round.
class RunClient final : public PoolClient {
 public:
  RunClient(size_t count, BatchListener& listener, const RunSteps& steps)
      : count_(count), listener_(listener), steps_(steps) {}

  std::optional<std::pair<size_t, HttpRequest>> Next() override {
    for (; next_ < count_; ++next_) {
      if (!listener_.Wanted(next_)) continue;
      try {
        HttpRequest request = steps_.make(next_);
        return std::pair(next_++, std::move(request));
      } catch (const Error& error) {
        if (error.code() == ErrorCode::kUsage) throw;  // no other request would fare better
        OnFailure(next_, error.what());
      }
    }
    return std::nullopt;
  }

  void OnBody(size_t index, const std::string& body) override {
    tokens_ += steps_.read(index, body);
    finished_.push_back(index);
  }

  void OnFailure(size_t index, const std::string& why) override {
    steps_.fail(index, why);
    finished_.push_back(index);
  }

  bool OnRound() override {
    if (!finished_.empty()) listener_.OnBatch(finished_, tokens_);
    finished_.clear();
    tokens_ = 0;
    return listener_.StopRequested();
  }

 private:
  size_t count_;
  BatchListener& listener_;
  const RunSteps& steps_;
  size_t next_ = 0;
  std::vector<size_t> finished_;
  int64_t tokens_ = 0;
};

}  // namespace

OpenAiServer::OpenAiServer(const ServedOptions& options, std::unique_ptr<Transport> transport,
                           const core::Clock& clock, uint64_t seed)
    : options_(options),
      transport_(std::move(transport)),
      clock_(clock),
      pool_(*transport_, clock, options.retry, options.in_flight, seed) {
  facts_.url = options.url;
  facts_.root =
      options.url.ends_with("/v1") ? options.url.substr(0, options.url.size() - 3) : options.url;
  facts_.model = options.model;
  facts_.chat = options.chat;
}

HttpAnswer OpenAiServer::Ask(const HttpRequest& request) {
  RetryPolicy policy = options_.retry;
  policy.attempts = std::min(policy.attempts, kAskAttempts);
  policy.base_ms = std::min(policy.base_ms, kAskBaseMs);
  const int64_t started = clock_.NowNs();
  for (int attempt = 1;; ++attempt) {
    transport_->Start(static_cast<uint64_t>(attempt), request);
    std::vector<std::pair<uint64_t, HttpAnswer>> ended;
    while (ended.empty()) ended = transport_->Wait(1000);
    HttpAnswer answer = std::move(ended.front().second);
    const Judgement judgement = Judge(answer);
    if (judgement.verdict == Verdict::kRefused) {
      throw ModelError(
          "{}: the server refuses us ({}); give the key with key_env=NAME or key_file=PATH",
          request.url, judgement.reason);
    }
    const int64_t wait_ms = BackoffMs(policy, attempt, 0.5, answer.retry_after_ms);
    const int64_t now = clock_.NowNs();
    const bool again = judgement.verdict == Verdict::kAgain && attempt < policy.attempts &&
                       (now - started) / core::kNsPerMs + wait_ms <= policy.budget_ms;
    if (!again) {
      if (!answer.failure.empty()) throw ModelError("{}: {}", request.url, answer.failure);
      return answer;
    }
    const int64_t until = now + wait_ms * core::kNsPerMs;
    while (clock_.NowNs() < until) {
      transport_->Wait((until - clock_.NowNs() + core::kNsPerMs - 1) / core::kNsPerMs);
    }
  }
}

void OpenAiServer::Run(size_t count, BatchListener& listener, const RunSteps& steps) {
  RunClient client(count, listener, steps);
  InContext(options_.url, [&] { pool_.Run(client); });
}

std::vector<std::string> OpenAiServer::Notes() const {
  const PoolTotals& totals = pool_.totals();
  std::vector<std::string> notes;
  if (!totals.retried.empty()) {
    std::string kinds;
    int64_t all = 0;
    for (const auto& [kind, count] : totals.retried) {
      all += count;
      kinds += fmt::format("{}{}: {}", kinds.empty() ? "" : ", ", kind, count);
    }
    notes.push_back(
        fmt::format("{} of {} requests to the server were repeats ({})", all, totals.sent, kinds));
  }
  if (totals.failed > 0) {
    notes.push_back(fmt::format("{} requests to the server failed for good", totals.failed));
  }
  return notes;
}

}  // namespace natsl::model_adapters
