// Whole served models against servers of our own: every kind gives the same scores as the same
// model here, and everything a server can do wrong is seen for what it is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <cstdlib>
#include <mutex>

#include "core/json.h"
#include "model_adapters/remote/model_string.h"
#include "model_adapters/remote/openai_model.h"
#include "model_adapters/remote/transport.h"
#include "tests/model_adapters/remote/fake_server.h"

namespace natsl::model_adapters {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class WrongTokenizer final : public Tokenizer {
 public:
  std::vector<TokenId> Encode(std::string_view text, bool special) const override {
    std::vector<TokenId> ids = right_.Encode(text, special);
    for (TokenId& id : ids) id = id < 256 ? (id + 1) % 256 : id;
    return ids;
  }
  std::string Decode(std::span<const TokenId> ids, bool skip) const override {
    std::vector<TokenId> back(ids.begin(), ids.end());
    for (TokenId& id : back) id = id < 256 ? (id + 255) % 256 : id;
    return right_.Decode(back, skip);
  }
  const SpecialTokens& special_tokens() const override { return right_.special_tokens(); }
  int64_t vocabulary_size() const override { return right_.vocabulary_size(); }
  const std::string& fingerprint() const override { return right_.fingerprint(); }
  std::optional<int64_t> model_max_length() const override { return std::nullopt; }

 private:
  ByteTokenizer right_{true};
};

std::unique_ptr<LanguageModel> Open(const std::string& model,
                                    std::shared_ptr<const Tokenizer> tokenizer,
                                    int64_t in_flight = 4) {
  static const core::SteadyClock clock;
  ServedOptions served = ParseServed("openai:" + model);
  served.retry.base_ms = 2;
  served.retry.cap_ms = 20;
  served.in_flight = in_flight;
  TransportOptions transport;
  transport.key = ReadKey(served);
  transport.ca_file = served.ca_file;
  transport.in_flight = in_flight;
  transport.timeout_ms = served.retry.timeout_ms;
  transport.max_answer_bytes = 1 << 20;
  return MakeServedModel(
      "openai:" + model,
      std::make_unique<OpenAiServer>(served, MakeCurlTransport(transport), clock, 1),
      std::move(tokenizer), {});
}

std::shared_ptr<const Tokenizer> LocalTokenizer() { return std::make_shared<ByteTokenizer>(true); }

std::string Setting(const LanguageModel& model, const std::string& name) {
  for (const auto& [key, value] : model.Info().settings) {
    if (key == name) return value;
  }
  return "";
}

template <typename Body>
std::string ServedRefusal(const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

std::vector<LoglikelihoodResult> Score(LanguageModel& model,
                                       const std::vector<LoglikelihoodRequest>& requests) {
  std::vector<LoglikelihoodResult> results(requests.size());
  BatchListener listener;
  model.Loglikelihood(requests, results, listener);
  return results;
}

/// -(id + position) / 100 for the ids of the continuation, the context and BOS in front.
double Expected(const std::string& context, const std::string& continuation) {
  const std::vector<TokenId> ids = ByteTokenizer(true).Encode(context + continuation, true);
  const size_t from = ByteTokenizer(true).Encode(context, true).size();
  double sum = 0;
  for (size_t i = from; i < ids.size(); ++i) {
    sum -= (static_cast<double>(ids[i]) + static_cast<double>(i)) / 100;
  }
  return sum;
}

struct KindCase {
  const char* name;
  FakeKind kind;
  bool tokenizer;
  const char* server;
  const char* logprobs;
  const char* prompts;
};

class KindTest : public ::testing::TestWithParam<KindCase> {};

TEST_P(KindTest, ScoresAsTheModelHere) {
  const KindCase& c = GetParam();
  HttpServer server([&](const SeenRequest& request) { return FakeAnswer(c.kind, request); });
  const auto model = Open(server.url(), c.tokenizer ? LocalTokenizer() : nullptr);
  EXPECT_EQ(Setting(*model, "server"), c.server);
  EXPECT_EQ(Setting(*model, "logprobs"), c.logprobs);
  EXPECT_EQ(Setting(*model, "prompts"), c.prompts);
  EXPECT_EQ(Setting(*model, "served_model"), "fake");
  const std::vector<LoglikelihoodRequest> requests = {
      {"the answer is", " fab"}, {"x ", "bdf"}, {"q", "\x62\x64"}, {"é", " ü"}};
  const auto results = Score(*model, requests);
  for (size_t i = 0; i < requests.size(); ++i) {
    EXPECT_EQ(results[i].error, std::nullopt);
    const std::string context = requests[i].context == "x " ? "x" : requests[i].context;
    const std::string continuation =
        requests[i].context == "x " ? " bdf" : requests[i].continuation;
    EXPECT_NEAR(results[i].log_prob, Expected(context, continuation), 1e-5) << i;
    EXPECT_EQ(results[i].is_greedy, i != 3) << i;
  }
  EXPECT_THAT(results[0].token_log_probs.size(), 3U);  // " ", "f", "ab"
}

INSTANTIATE_TEST_SUITE_P(
    All, KindTest,
    ::testing::Values(
        KindCase{"vllm_ids", FakeKind::kVllm, true, "vllm 0.11.0", "prompt_logprobs", "ids"},
        KindCase{"vllm_text", FakeKind::kVllm, false, "vllm 0.11.0", "echo", "text"},
        KindCase{"sglang_ids", FakeKind::kSglang, true, "sglang 0.5", "sglang", "ids"},
        KindCase{"llama_cpp_ids", FakeKind::kLlamaCpp, true, "llama.cpp b1", "forced", "ids"},
        KindCase{"llama_cpp_python", FakeKind::kLlamaCppPython, true, "llama-cpp-python", "echo",
                 "text"},
        KindCase{"llama_cpp_python_without_tokenizer", FakeKind::kLlamaCppPython, false,
                 "llama-cpp-python", "echo", "text"},
        KindCase{"openai_ids", FakeKind::kOpenAi, true, "unknown", "echo", "ids"},
        KindCase{"openai_text", FakeKind::kOpenAi, false, "unknown", "echo", "text"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(ServedModelTest, RollsAndCutsLikeAModelHere) {
  HttpServer server([](const SeenRequest& r) { return FakeAnswer(FakeKind::kVllm, r); });
  const auto model = Open(server.url(), LocalTokenizer());
  EXPECT_EQ(model->Info().max_length, 62);  // 64 less the scored id and the one that is made
  const auto here = MakeTokenizedModel(std::make_unique<EchoModel>(62), LocalTokenizer(), {});
  BatchListener listener;
  const std::vector<RollingRequest> rolling = {
      {std::string(150, 'b') + "xyz", {}}, {"ab", {}}, {"", {}}};
  std::vector<RollingResult> there(3), ours(3);
  model->LoglikelihoodRolling(rolling, there, listener);
  here->LoglikelihoodRolling(rolling, ours, listener);
  for (size_t i = 0; i < rolling.size(); ++i) {
    EXPECT_EQ(there[i].error, std::nullopt);
    EXPECT_EQ(there[i].output_tokens, ours[i].output_tokens);
    EXPECT_NEAR(there[i].log_prob * 100, ours[i].log_prob, 1e-3);
  }
  const std::vector<LoglikelihoodRequest> long_one = {{std::string(100, 'c'), " d"}, {"", "d"}};
  std::vector<LoglikelihoodResult> long_ours(2);
  here->Loglikelihood(long_one, long_ours, listener);
  const auto long_there = Score(*model, long_one);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(long_there[i].truncated_tokens, long_ours[i].truncated_tokens);
    EXPECT_NEAR(long_there[i].log_prob * 100, long_ours[i].log_prob, 1e-3);
  }
}

TEST(ServedModelTest, GeneratesByCompletions) {
  for (const FakeKind kind : {FakeKind::kVllm, FakeKind::kSglang, FakeKind::kLlamaCpp,
                              FakeKind::kLlamaCppPython, FakeKind::kOpenAi}) {
    HttpServer server([&](const SeenRequest& r) { return FakeAnswer(kind, r); });
    const auto model = Open(server.url(), LocalTokenizer());
    const std::vector<GenerateRequest> requests = {
        {"hello there", {"th"}, 9, {}, {}}, {"hello", {""}, 9, {}, {}}, {"hello", {}, 3, {}, {}}};
    std::vector<GenerateResult> results(3);
    BatchListener listener;
    model->GenerateUntil(requests, results, listener);
    EXPECT_EQ(results[0].text, "hello ") << static_cast<int>(kind);
    EXPECT_EQ(results[0].finish, FinishReason::kStop);
    EXPECT_EQ(results[1].text, "") << "BOS is all that is made, an empty stop string stops there";
    EXPECT_EQ(results[2].text, "he");
    EXPECT_EQ(results[2].finish, FinishReason::kLength);
    EXPECT_EQ(results[2].output_tokens, 3);
  }
}

TEST(ServedModelTest, ChatGeneratesAndRefusesToScore) {
  HttpServer server([](const SeenRequest& r) { return FakeAnswer(FakeKind::kChatOnly, r); });
  const auto model = Open(server.url() + ",api=chat", nullptr);
  std::vector<GenerateResult> results(1);
  BatchListener listener;
  model->GenerateUntil(std::vector<GenerateRequest>{{"Hi.", {"!"}, 20, {}, {}}}, results, listener);
  EXPECT_EQ(results[0].text, "You said: Hi.");
  EXPECT_THAT(server.seen().back().body, HasSubstr(R"("max_completion_tokens":20)"));
  EXPECT_THAT(ServedRefusal([&] { Score(*model, {{"a", "b"}}); }), HasSubstr("leave out api=chat"));
}

TEST(ServedModelTest, SaysWhatWasTriedWhereThereAreNoLogProbs) {
  HttpServer server([](const SeenRequest& r) {
    if (r.body.find("\"echo\"") != std::string::npos) {
      return Reply(400, R"({"error": {"message": "echo is not supported"}})");
    }
    return FakeAnswer(FakeKind::kOpenAi, r);
  });
  const auto model = Open(server.url(), LocalTokenizer());
  EXPECT_EQ(Setting(*model, "logprobs"), "none");
  const std::string refusal = ServedRefusal([&] { Score(*model, {{"a", "b"}}); });
  EXPECT_THAT(refusal, HasSubstr("prompt_logprobs (ids): HTTP 400: Unrecognized argument"));
  EXPECT_THAT(refusal, HasSubstr("echo (text): HTTP 400: echo is not supported"));
}

TEST(ServedModelTest, ANamelessModelAndAnotherTokenizerAreErrors) {
  HttpServer server([](const SeenRequest& r) {
    if (r.path == "/v1/models") return Reply(200, R"({"data": [{"id": "a"}, {"id": "b"}]})");
    return FakeAnswer(FakeKind::kOpenAi, r);
  });
  EXPECT_THAT(ServedRefusal([&] { Open(server.url(), nullptr); }),
              HasSubstr("the server has a, b"));
  EXPECT_THAT(
      ServedRefusal([&] { Open(server.url() + ",model=a", std::make_shared<WrongTokenizer>()); }),
      HasSubstr("isn't that of"));
}

/// Answers as the good server, but badly where the request holds `needle`, once it is armed. The
/// fault is told which attempt at a request it is.
class FaultyServer {
 public:
  using Fault = std::function<RawAnswer(int attempt, const RawAnswer& good)>;
  explicit FaultyServer(Fault fault, const std::string& needle = "")
      : server_([this, needle, fault = std::move(fault)](const SeenRequest& request) {
          const RawAnswer good = FakeAnswer(FakeKind::kOpenAi, request);
          if (!armed_ || request.path != "/v1/completions" ||
              request.body.find(needle) == std::string::npos) {
            return good;
          }
          const std::lock_guard lock(mutex_);
          return fault(attempts_[request.body]++, good);
        }) {}

  void Arm() { armed_ = true; }
  const HttpServer& server() const { return server_; }
  std::string url() const { return server_.url(); }
  int most_attempts() const {
    const std::lock_guard lock(mutex_);
    int most = 0;
    for (const auto& [body, count] : attempts_) most = std::max(most, count);
    return most;
  }

 private:
  std::atomic<bool> armed_{false};
  mutable std::mutex mutex_;
  std::map<std::string, int> attempts_;
  HttpServer server_;
};

/// Scores 12 requests on a server that is at fault at the first two attempts of each.
void ExpectRecovery(const FaultyServer::Fault& fault, const std::string& note,
                    const std::string& options = "") {
  FaultyServer faulty([&](int attempt, const RawAnswer& good) {
    return attempt < 2 ? fault(attempt, good) : good;
  });
  const auto model = Open(faulty.url() + options, LocalTokenizer());
  faulty.Arm();
  std::vector<LoglikelihoodRequest> requests;
  for (int i = 0; i < 12; ++i) requests.push_back({"context " + std::to_string(i), " bd"});
  const auto results = Score(*model, requests);
  for (size_t i = 0; i < requests.size(); ++i) {
    EXPECT_EQ(results[i].error, std::nullopt);
    EXPECT_NEAR(results[i].log_prob, Expected(requests[i].context, " bd"), 1e-5);
  }
  EXPECT_EQ(faulty.most_attempts(), 3);
  ASSERT_EQ(model->Notes().size(), 1U);
  EXPECT_THAT(model->Notes()[0], HasSubstr("requests to the server were repeats"));
  EXPECT_THAT(model->Notes()[0], HasSubstr(note));
}

TEST(FaultTest, OverloadAndServerErrors) {
  ExpectRecovery([](int, const RawAnswer&) { return Reply(429, "slow down"); }, "HTTP 429: 24");
  ExpectRecovery([](int, const RawAnswer&) { return Reply(500, "{}"); }, "HTTP 500: 24");
  ExpectRecovery([](int, const RawAnswer&) { return Reply(503, "", "Retry-After: 0\r\n"); },
                 "HTTP 503: 24");
}

TEST(FaultTest, LostConnections) {
  ExpectRecovery([](int, const RawAnswer&) { return RawAnswer{"", true}; }, "libcurl error 52");
}

TEST(FaultTest, CutBodies) {
  // The connection ends before the promised length.
  ExpectRecovery(
      [](int, const RawAnswer& good) {
        return RawAnswer{good.bytes.substr(0, good.bytes.size() - 40), true};
      },
      "libcurl error 18");
  // The length is right, and the JSON isn't whole.
  ExpectRecovery(
      [](int, const RawAnswer& good) {
        const std::string body = good.bytes.substr(good.bytes.find("\r\n\r\n") + 4);
        return Reply(200, body.substr(0, body.size() / 2));
      },
      "cut body: 24");
  ExpectRecovery([](int, const RawAnswer&) { return Reply(200, ""); }, "cut body: 24");
}

TEST(FaultTest, Silence) {
  ExpectRecovery(
      [](int, const RawAnswer&) {
        return RawAnswer{"", false, true};
      },
      "time-out", ",timeout=0.5");
  ExpectRecovery(
      [](int, const RawAnswer& good) {
        return RawAnswer{good.bytes.substr(0, 100), false, true};
      },
      "time-out", ",timeout=0.5");
}

/// The error of the one request of 6 whose continuation is " odd"; the others must be right.
std::string ErrorRow(const FaultyServer::Fault& fault, int* attempts = nullptr) {
  FaultyServer faulty(fault, "odd");
  const auto model = Open(faulty.url() + ",logprobs=echo,prompts=text,attempts=3", nullptr);
  faulty.Arm();
  std::vector<LoglikelihoodRequest> requests;
  for (int i = 0; i < 6; ++i) {
    requests.push_back({"number " + std::to_string(i), i == 3 ? " odd" : " even"});
  }
  const auto results = Score(*model, requests);
  for (size_t i = 0; i < requests.size(); ++i) {
    if (i == 3) continue;
    EXPECT_EQ(results[i].error, std::nullopt);
    EXPECT_NEAR(results[i].log_prob, Expected(requests[i].context, " even"), 1e-5);
  }
  if (attempts != nullptr) *attempts = faulty.most_attempts();
  const std::vector<std::string> notes = model->Notes();
  EXPECT_EQ(notes.empty() ? "" : notes.back(), "1 requests to the server failed for good");
  return results[3].error.value_or("no error");
}

TEST(FaultTest, WhatKeepsFailingIsAnErrorRow) {
  int attempts = 0;
  EXPECT_EQ(ErrorRow([](int, const RawAnswer&) { return Reply(500, "broken"); }, &attempts),
            "3 attempts failed, the last with HTTP 500: broken");
  EXPECT_EQ(attempts, 3);
}

TEST(FaultTest, WhatIsOursIsAnErrorRowAtOnce) {
  int attempts = 0;
  EXPECT_EQ(ErrorRow([](int, const RawAnswer&) { return Reply(400, R"({"detail": "too long"})"); },
                     &attempts),
            "HTTP 400: too long");
  EXPECT_EQ(attempts, 1);
}

TEST(FaultTest, HostileAnswersAreErrorRows) {
  const auto changed = [](const std::string& from, const std::string& to) {
    return [=](int, const RawAnswer& good) {
      std::string body = good.bytes.substr(good.bytes.find("\r\n\r\n") + 4);
      const size_t at = body.find(from);
      EXPECT_NE(at, std::string::npos);
      return Reply(200, body.replace(at, from.size(), to));
    };
  };
  EXPECT_THAT(ErrorRow(changed("\"tokens\"", "\"nekots\"")), HasSubstr("no list \"tokens\""));
  EXPECT_THAT(ErrorRow(changed("\"o\",\"d\"", "\"x\",\"d\"")), HasSubstr("make up the text"));
  EXPECT_THAT(ErrorRow(changed("null,", "null,NaN,")), HasSubstr("one entry a token"));
  EXPECT_THAT(ErrorRow([](int, const RawAnswer&) {
                return RawAnswer{"HELLO\r\n\r\n", true};
              }),
              HasSubstr("HTTP/0.9"));
  EXPECT_THAT(ErrorRow([](int, const RawAnswer&) { return Reply(200, "[]"); }),
              HasSubstr("expected an object"));
  EXPECT_THAT(ErrorRow([](int, const RawAnswer&) {
                return Reply(302, "", "Location: http://127.0.0.1:1/\r\n");
              }),
              HasSubstr("redirects aren't followed"));
  EXPECT_THAT(ErrorRow([](int, const RawAnswer&) { return Reply(200, std::string(2 << 20, ' ')); }),
              HasSubstr("larger than 1048576 bytes"));
}

TEST(FaultTest, AServerThatIsGoneEndsTheRun) {
  auto server = std::make_unique<HttpServer>(
      [](const SeenRequest& r) { return FakeAnswer(FakeKind::kOpenAi, r); });
  const auto model = Open(server->url() + ",attempts=2", LocalTokenizer());
  server.reset();
  const std::vector<LoglikelihoodRequest> requests(10, {"a", "b"});
  EXPECT_THAT(ServedRefusal([&] { Score(*model, requests); }), HasSubstr("no longer answers"));
  EXPECT_THAT(ServedRefusal([&] { Open("http://127.0.0.1:9/v1,attempts=1", nullptr); }),
              HasSubstr("127.0.0.1"));
}

TEST(ConnectionTest, KeepsConnectionsAndItsNumberInFlight) {
  // The first three scores are held back until all of them are there.
  std::mutex mutex;
  std::condition_variable all_here;
  int scores = 0;
  HttpServer server([&](const SeenRequest& r) {
    if (r.body.find("[256,99,32,") != std::string::npos) {
      std::unique_lock lock(mutex);
      ++scores;
      all_here.notify_all();
      all_here.wait_for(lock, std::chrono::seconds(20), [&] { return scores >= 3; });
    }
    return FakeAnswer(FakeKind::kOpenAi, r);
  });
  const auto model = Open(server.url(), LocalTokenizer(), /*in_flight=*/3);
  std::vector<LoglikelihoodRequest> requests;
  for (int i = 0; i < 60; ++i) requests.push_back({"c " + std::to_string(i), " d"});
  for (const auto& result : Score(*model, requests)) EXPECT_EQ(result.error, std::nullopt);
  EXPECT_GE(server.seen().size(), 60U);
  EXPECT_LE(server.connections(), 3);
  EXPECT_EQ(server.most_at_once(), 3);
}

TEST(KeyTest, IsSentAndNeverShown) {
  ::setenv("NATSL_TEST_KEY", "sk-SECRET-123", 1);
  HttpServer server([](const SeenRequest& r) {
    if (r.headers.at("authorization") != "Bearer sk-SECRET-123") return Reply(401, "{}");
    // A server that tells what it was sent, in an error and in a text.
    if (r.body.find("odd") != std::string::npos) {
      return Reply(400, R"({"error": {"message": "bad request with sk-SECRET-123"}})");
    }
    if (r.body.find("leak") != std::string::npos) {
      return Reply(200, R"({"choices": [{"text": "sk-SECRET-123", "finish_reason": "stop"}]})");
    }
    return FakeAnswer(FakeKind::kOpenAi, r);
  });
  const auto model = Open(server.url() + ",key_env=NATSL_TEST_KEY", nullptr);
  const auto results = Score(*model, {{"a", " odd"}, {"a", " even"}});
  EXPECT_EQ(results[0].error, "HTTP 400: bad request with [key]");
  EXPECT_EQ(results[1].error, std::nullopt);
  std::vector<GenerateResult> made(1);
  BatchListener listener;
  model->GenerateUntil(std::vector<GenerateRequest>{{"leak", {}, 5, {}, {}}}, made, listener);
  EXPECT_EQ(made[0].text, "[key]");
  std::string told = model->Info().name + model->Info().weights_fingerprint;
  for (const auto& [name, value] : model->Info().settings) told += name + value;
  EXPECT_THAT(told, Not(HasSubstr("SECRET")));

  ::setenv("NATSL_TEST_KEY", "sk-other", 1);
  EXPECT_THAT(ServedRefusal([&] { Open(server.url() + ",key_env=NATSL_TEST_KEY", nullptr); }),
              HasSubstr("the server refuses us"));
}

}  // namespace
}  // namespace natsl::model_adapters
