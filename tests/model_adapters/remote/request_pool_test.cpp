// Retries, budgets and limits of many requests, on a clock that is set and a scripted transport.
#include "model_adapters/remote/request_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

#include "core/error.h"

namespace natsl::model_adapters {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Answers at once, by a script for each URL; waiting moves the clock.
class ScriptedTransport final : public Transport {
 public:
  explicit ScriptedTransport(core::FakeClock& clock) : clock_(clock) {}

  void Start(uint64_t ticket, const HttpRequest& request) override {
    starts.emplace_back(request.url, clock_.NowNs() / core::kNsPerMs);
    std::deque<HttpAnswer>& script = scripts[request.url];
    HttpAnswer answer;
    answer.status = 200;
    answer.body = "ok " + request.url;
    if (!script.empty()) {
      answer = script.front();
      script.pop_front();
    }
    ready_.emplace_back(ticket, answer);
    most = std::max(most, ready_.size());
  }

  std::vector<std::pair<uint64_t, HttpAnswer>> Wait(int64_t milliseconds) override {
    if (ready_.empty()) clock_.Advance(milliseconds * core::kNsPerMs);
    return std::exchange(ready_, {});
  }
  void CancelAll() override { ready_.clear(); }

  std::map<std::string, std::deque<HttpAnswer>> scripts;
  std::vector<std::pair<std::string, int64_t>> starts;  ///< URL, milliseconds
  size_t most = 0;

 private:
  core::FakeClock& clock_;
  std::vector<std::pair<uint64_t, HttpAnswer>> ready_;
};

class Recorder final : public PoolClient {
 public:
  explicit Recorder(size_t count) : count_(count) {}
  std::optional<std::pair<size_t, HttpRequest>> Next() override {
    if (next_ == count_) return std::nullopt;
    const size_t index = next_++;
    return std::pair(index, HttpRequest{fmt::format("u{}", index), "{}"});
  }
  void OnBody(size_t index, const std::string& body) override {
    if (body == "cut") throw CutAnswer("the answer is cut");
    if (body == "wrong") throw ModelError("the answer is wrong");
    done.push_back(index);
  }
  void OnFailure(size_t index, const std::string& why) override { failed[index] = why; }
  bool OnRound() override { return stop_after != 0 && done.size() >= stop_after; }

  std::vector<size_t> done;
  std::map<size_t, std::string> failed;
  size_t stop_after = 0;

 private:
  size_t count_, next_ = 0;
};

HttpAnswer Status(int status, const std::string& body = "", int64_t retry_after_ms = 0) {
  HttpAnswer answer;
  answer.status = status;
  answer.body = body;
  if (retry_after_ms > 0) answer.retry_after_ms = retry_after_ms;
  return answer;
}

HttpAnswer Lost() {
  HttpAnswer answer;
  answer.failure = "connection reset";
  answer.transient = true;
  return answer;
}

class RequestPoolTest : public ::testing::Test {
 protected:
  RequestPool Pool(int64_t in_flight) { return {transport_, clock_, policy_, in_flight, 1}; }

  core::FakeClock clock_;
  ScriptedTransport transport_{clock_};
  RetryPolicy policy_{
      .timeout_ms = 1000, .budget_ms = 60'000, .attempts = 4, .base_ms = 100, .cap_ms = 1000};
};

TEST_F(RequestPoolTest, RepeatsWhatMayPass) {
  transport_.scripts["u1"] = {Status(500), Lost(), Status(200, "cut")};
  RequestPool pool = Pool(2);
  Recorder client(3);
  pool.Run(client);
  EXPECT_THAT(client.done, ElementsAre(0, 2, 1));
  EXPECT_THAT(client.failed, IsEmpty());
  EXPECT_EQ(pool.totals().sent, 6);
  EXPECT_EQ(pool.totals().retried.at("HTTP 500"), 1);
  EXPECT_EQ(pool.totals().retried.at("connection reset"), 1);
  EXPECT_EQ(pool.totals().retried.at("cut body"), 1);
  // Waits of 50-100, 100-200 and 200-400 ms lie between the attempts of u1.
  std::vector<int64_t> at;
  for (const auto& [url, ms] : transport_.starts) {
    if (url == "u1") at.push_back(ms);
  }
  ASSERT_EQ(at.size(), 4U);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_GE(at[i + 1] - at[i], 50 << i);
    EXPECT_LE(at[i + 1] - at[i], 100 << i);
  }
}

TEST_F(RequestPoolTest, NeverRepeatsARequestThatIsAtFault) {
  transport_.scripts["u0"] = {Status(400, R"({"error": {"message": "too long"}})")};
  transport_.scripts["u1"] = {Status(200, "wrong")};
  RequestPool pool = Pool(1);
  Recorder client(3);
  pool.Run(client);
  EXPECT_THAT(client.done, ElementsAre(2));
  EXPECT_EQ(client.failed.at(0), "HTTP 400: too long");
  EXPECT_EQ(client.failed.at(1), "the answer is wrong");
  EXPECT_EQ(pool.totals().sent, 3);
  EXPECT_EQ(pool.totals().failed, 2);
}

TEST_F(RequestPoolTest, HonoursRetryAfterForAllRequests) {
  transport_.scripts["u0"] = {Status(429, "", 5000)};
  RequestPool pool = Pool(1);
  Recorder client(2);
  pool.Run(client);
  ASSERT_EQ(transport_.starts.size(), 3U);
  EXPECT_EQ(transport_.starts[0].second, 0);
  EXPECT_EQ(transport_.starts[1].second, 5000);
  EXPECT_EQ(client.done.size(), 2U);
}

TEST_F(RequestPoolTest, GivesUpAfterItsAttempts) {
  transport_.scripts["u0"] = {Status(503), Status(503), Status(503), Status(503, "full")};
  RequestPool pool = Pool(2);
  Recorder client(2);
  pool.Run(client);
  EXPECT_EQ(client.failed.at(0), "4 attempts failed, the last with HTTP 503: full");
  EXPECT_EQ(pool.totals().failed, 1);
  EXPECT_THAT(client.done, ElementsAre(1));
}

TEST_F(RequestPoolTest, GivesUpWhereTheBudgetWouldBeOverdrawn) {
  policy_.budget_ms = 3000;
  transport_.scripts["u0"] = {Status(429, "later", 4000)};
  RequestPool pool = Pool(1);
  Recorder client(1);
  pool.Run(client);
  EXPECT_THAT(client.failed.at(0), HasSubstr("given up after 1 attempts"));
  EXPECT_THAT(client.failed.at(0), HasSubstr("HTTP 429: later"));
  EXPECT_EQ(clock_.NowNs(), 0) << "it doesn't wait for what it can't use";
}

TEST_F(RequestPoolTest, AServerThatIsGoneEndsTheRunWithoutFailedRequests) {
  for (int i = 0; i < 20; ++i) {
    transport_.scripts[fmt::format("u{}", i)] = {Lost(), Lost(), Lost(), Lost()};
  }
  RequestPool pool = Pool(5);
  Recorder client(20);
  try {
    pool.Run(client);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kModel);
    EXPECT_THAT(error.what(), HasSubstr("5 requests in a row"));
  }
  EXPECT_THAT(client.failed, IsEmpty()) << "they can be asked again";
}

TEST_F(RequestPoolTest, ARefusedKeyEndsTheRun) {
  transport_.scripts["u0"] = {Status(401, R"({"error": {"message": "no key"}})")};
  RequestPool pool = Pool(2);
  Recorder client(2);
  EXPECT_THROW(pool.Run(client), Error);
}

TEST_F(RequestPoolTest, KeepsToItsNumberInFlightAndStopsWhenAsked) {
  RequestPool pool = Pool(3);
  Recorder client(10);
  client.stop_after = 4;
  pool.Run(client);
  EXPECT_EQ(transport_.most, 3U);
  EXPECT_EQ(client.done.size(), 6U);
}

}  // namespace
}  // namespace natsl::model_adapters
