// When a request is sent again, and after how long.
#include "model_adapters/remote/retry.h"

#include <gtest/gtest.h>

namespace natsl::model_adapters {
namespace {

HttpAnswer WithStatus(int status, const std::string& body = "") {
  HttpAnswer answer;
  answer.status = status;
  answer.body = body;
  return answer;
}

TEST(JudgeTest, RetriesWhatMayPassAndNothingOfOurs) {
  for (const int status : {408, 429, 500, 502, 503, 504, 529}) {
    EXPECT_EQ(Judge(WithStatus(status)).verdict, Verdict::kAgain) << status;
  }
  for (const int status : {400, 403, 404, 405, 409, 413, 415, 422}) {
    EXPECT_EQ(Judge(WithStatus(status)).verdict, Verdict::kFailed) << status;
  }
  EXPECT_EQ(Judge(WithStatus(401)).verdict, Verdict::kRefused);
  EXPECT_EQ(Judge(WithStatus(200)).verdict, Verdict::kDone);
  EXPECT_EQ(Judge(WithStatus(307)).verdict, Verdict::kFailed);
}

TEST(JudgeTest, TransportFailuresSayWhetherTheyPass) {
  HttpAnswer answer;
  answer.failure = "time-out";
  answer.transient = true;
  EXPECT_EQ(Judge(answer).verdict, Verdict::kAgain);
  answer.transient = false;
  EXPECT_EQ(Judge(answer).verdict, Verdict::kFailed);
}

TEST(JudgeTest, QuotesTheServersReason) {
  EXPECT_EQ(Judge(WithStatus(400, R"({"error": {"message": "too\nlong", "type": "x"}})")).reason,
            "HTTP 400: too long");
  EXPECT_EQ(Judge(WithStatus(422, R"({"detail": "no such field"})")).reason,
            "HTTP 422: no such field");
  EXPECT_EQ(Judge(WithStatus(502, "<html>Bad\x01Gateway</html>")).reason,
            "HTTP 502: <html>Bad Gateway</html>");
  EXPECT_LT(ErrorMessage(std::string(100'000, 'x')).size(), 310U);
  EXPECT_EQ(ErrorMessage(std::string("a\xFF") + "b"),
            "a\xEF\xBF\xBD"
            "b");
}

TEST(BackoffTest, DoublesToTheCapWithJitter) {
  RetryPolicy policy;
  policy.base_ms = 100;
  policy.cap_ms = 1000;
  EXPECT_EQ(BackoffMs(policy, 1, 0.0, {}), 50);
  EXPECT_EQ(BackoffMs(policy, 1, 0.5, {}), 75);
  EXPECT_EQ(BackoffMs(policy, 2, 0.0, {}), 100);
  EXPECT_EQ(BackoffMs(policy, 4, 0.0, {}), 400);
  EXPECT_EQ(BackoffMs(policy, 5, 0.0, {}), 500);
  EXPECT_EQ(BackoffMs(policy, 1'000'000, 0.0, {}), 500);
}

TEST(BackoffTest, WaitsAtLeastWhatTheServerAsks) {
  RetryPolicy policy;
  EXPECT_EQ(BackoffMs(policy, 1, 0.0, 30'000), 30'000);
  EXPECT_EQ(BackoffMs(policy, 1, 0.0, 1), 250);
  EXPECT_EQ(BackoffMs(policy, 1, 0.0, INT64_MAX), int64_t{24} * 3600 * 1000);
}

}  // namespace
}  // namespace natsl::model_adapters
