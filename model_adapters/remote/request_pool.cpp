#include "model_adapters/remote/request_pool.h"

#include <algorithm>

#include "core/cast.h"
#include "core/error.h"

namespace natsl::model_adapters {
namespace {

/// A run is asked at least this often whether to stop.
constexpr int64_t kRoundMs = 200;
constexpr int64_t kLeastInARow = 4;

}  // namespace

RequestPool::RequestPool(Transport& transport, const core::Clock& clock, const RetryPolicy& policy,
                         int64_t in_flight, uint64_t seed)
    : transport_(transport), clock_(clock), policy_(policy), in_flight_(in_flight), random_(seed) {}

void RequestPool::Run(PoolClient& client) {
  more_ = true;
  paused_until_ns_ = 0;
  // Whatever ends the run, nothing stays in flight.
  struct Cleanup {
    RequestPool& pool;
    ~Cleanup() {
      if (!pool.running_.empty()) pool.transport_.CancelAll();
      pool.running_.clear();
      pool.waiting_.clear();
      pool.held_.clear();
    }
  } cleanup{*this};

  Fill(client);
  while (!running_.empty() || !waiting_.empty()) {
    for (auto& [ticket, answer] : transport_.Wait(MillisecondsToNext())) {
      const auto found = running_.find(ticket);
      if (found == running_.end()) continue;
      Job job = std::move(found->second);
      running_.erase(found);
      OnAnswer(client, std::move(job), answer);
    }
    if (client.OnRound()) return;
    Fill(client);
  }
  Release(client);
  client.OnRound();
}

void RequestPool::Fill(PoolClient& client) {
  const int64_t now = clock_.NowNs();
  const auto start = [&](Job job) {
    ++job.attempt;
    ++totals_.sent;
    const uint64_t ticket = next_ticket_++;
    transport_.Start(ticket, job.request);
    running_.emplace(ticket, std::move(job));
  };
  while (core::Size(running_) < in_flight_ && now >= paused_until_ns_) {
    const auto due = std::find_if(waiting_.begin(), waiting_.end(),
                                  [&](const Job& job) { return job.due_ns <= now; });
    if (due != waiting_.end()) {
      Job job = std::move(*due);
      waiting_.erase(due);
      start(std::move(job));
      continue;
    }
    // A request that waits keeps its place: else a server in trouble would get ever more of them.
    if (!more_ || core::Size(running_) + core::Size(waiting_) >= in_flight_) return;
    auto next = client.Next();
    if (!next) {
      more_ = false;
      return;
    }
    Job job;
    job.index = next->first;
    job.request = std::move(next->second);
    job.started_ns = now;
    start(std::move(job));
  }
}

void RequestPool::OnAnswer(PoolClient& client, Job job, const HttpAnswer& answer) {
  const Judgement judgement = Judge(answer);
  switch (judgement.verdict) {
    case Verdict::kDone:
      Release(client);
      try {
        client.OnBody(job.index, answer.body);
      } catch (const CutAnswer& cut) {
        Retry(std::move(job), {Verdict::kAgain, cut.what(), "cut body"}, std::nullopt);
      } catch (const Error& error) {
        ++totals_.failed;
        client.OnFailure(job.index, error.what());
      }
      return;
    case Verdict::kAgain:
      Retry(std::move(job), judgement, answer.retry_after_ms);
      return;
    case Verdict::kFailed:
      Release(client);
      ++totals_.failed;
      client.OnFailure(job.index, judgement.reason);
      return;
    case Verdict::kRefused:
      throw ModelError(
          "the server refuses us ({}); give the key with key_env=NAME or key_file=PATH",
          judgement.reason);
  }
}

void RequestPool::Retry(Job job, const Judgement& judgement,
                        std::optional<int64_t> retry_after_ms) {
  const int64_t now = clock_.NowNs();
  const double jitter = std::uniform_real_distribution<double>(0, 1)(random_);
  const int64_t wait_ms = BackoffMs(policy_, job.attempt, jitter, retry_after_ms);
  const int64_t spent_ms = (now - job.started_ns) / core::kNsPerMs;
  if (job.attempt >= policy_.attempts) {
    Exhausted(job,
              fmt::format("{} attempts failed, the last with {}", job.attempt, judgement.reason));
  } else if (spent_ms + wait_ms > policy_.budget_ms) {
    Exhausted(job, fmt::format("given up after {} attempts in {:.1f} s (the next one had to wait "
                               "{:.1f} s, and the budget is {:.1f} s); the last failed with {}",
                               job.attempt, static_cast<double>(spent_ms) / 1000,
                               static_cast<double>(wait_ms) / 1000,
                               static_cast<double>(policy_.budget_ms) / 1000, judgement.reason));
  } else {
    ++totals_.retried[judgement.kind];
    job.due_ns = now + wait_ms * core::kNsPerMs;
    if (retry_after_ms) paused_until_ns_ = std::max(paused_until_ns_, job.due_ns);
    waiting_.push_back(std::move(job));
    return;
  }
  if (core::Size(held_) < std::max(in_flight_, kLeastInARow)) return;
  throw ModelError(
      "the server no longer answers: {} requests in a row failed for good; {}. What "
      "was finished is kept: run the same command again to go on",
      held_.size(), held_.back().why);
}

void RequestPool::Exhausted(const Job& job, const std::string& why) {
  held_.push_back({job.index, why});
}

void RequestPool::Release(PoolClient& client) {
  for (const Held& held : held_) {
    ++totals_.failed;
    client.OnFailure(held.index, held.why);
  }
  held_.clear();
}

int64_t RequestPool::MillisecondsToNext() const {
  int64_t due_ns = INT64_MAX;
  for (const Job& job : waiting_) due_ns = std::min(due_ns, std::max(job.due_ns, paused_until_ns_));
  if (due_ns == INT64_MAX) return kRoundMs;
  const int64_t left_ms = (due_ns - clock_.NowNs() + core::kNsPerMs - 1) / core::kNsPerMs;
  return std::clamp<int64_t>(left_ms, 0, kRoundMs);
}

}  // namespace natsl::model_adapters
