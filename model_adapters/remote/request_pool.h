// Many requests to one server: N in flight, each sent again where that may help, within its budget.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/clock.h"
#include "model_adapters/remote/retry.h"
#include "model_adapters/remote/transport.h"

namespace natsl::model_adapters {

/// Thrown by PoolClient::OnBody for a body that ends too early: the request is sent again.
class CutAnswer : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What the pool works for. Every index that Next gave ends in OnBody or in OnFailure, unless the
/// run is stopped or throws.
class PoolClient {
 public:
  virtual ~PoolClient() = default;
  /// The next request and its index; nothing: there are no more.
  virtual std::optional<std::pair<size_t, HttpRequest>> Next() = 0;
  /// The body of a 2xx answer. An Error that it throws makes the request fail for good.
  virtual void OnBody(size_t index, const std::string& body) = 0;
  virtual void OnFailure(size_t index, const std::string& why) = 0;
  /// After every wait; true stops the run.
  virtual bool OnRound() = 0;
};

struct PoolTotals {
  int64_t sent = 0;                        ///< attempts
  int64_t failed = 0;                      ///< requests that failed for good
  std::map<std::string, int64_t> retried;  ///< attempts that were repeated, by kind of failure
};

class RequestPool {
 public:
  /// `transport` and `clock` must outlive this. `seed`: of the jitter.
  RequestPool(Transport& transport, const core::Clock& clock, const RetryPolicy& policy,
              int64_t in_flight, uint64_t seed);

  /// Throws Error (model) where the server refuses the key, or where as many requests in a row as
  /// are in flight (4 at least) used up their attempts with no answer in between: the server is
  /// gone then, and those requests aren't reported as failed.
  void Run(PoolClient& client);
  const PoolTotals& totals() const { return totals_; }

 private:
  struct Job {
    size_t index = 0;
    HttpRequest request;
    int attempt = 0;  ///< attempts so far
    int64_t started_ns = 0;
    int64_t due_ns = 0;  ///< not sent before
  };
  struct Held {
    size_t index;
    std::string why;
  };

  void Fill(PoolClient& client);
  void OnAnswer(PoolClient& client, Job job, const HttpAnswer& answer);
  void Retry(Job job, const Judgement& judgement, std::optional<int64_t> retry_after_ms);
  void Exhausted(const Job& job, const std::string& why);
  void Release(PoolClient& client);
  int64_t MillisecondsToNext() const;

  Transport& transport_;
  const core::Clock& clock_;
  RetryPolicy policy_;
  int64_t in_flight_;
  std::mt19937_64 random_;
  PoolTotals totals_;

  std::map<uint64_t, Job> running_;
  std::vector<Job> waiting_;
  std::vector<Held> held_;  ///< exhausted, not reported before we know that the server lives
  bool more_ = true;
  uint64_t next_ticket_ = 0;
  int64_t paused_until_ns_ = 0;  ///< the server asked everyone to wait
};

}  // namespace natsl::model_adapters
