// Reading log-probs from servers' answers, in each form.
#include "model_adapters/remote/scoring.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "core/json.h"
#include "model_adapters/remote/request_pool.h"

namespace natsl::model_adapters {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatEq;
using ::testing::HasSubstr;

ServerFacts Facts(LogprobForm form) {
  ServerFacts facts;
  facts.url = "http://h/v1";
  facts.root = "http://h";
  facts.model = "m";
  facts.logprobs = form;
  return facts;
}

ScoreQuery ByIds(std::vector<TokenId> ids, int64_t from) {
  ScoreQuery query;
  query.ids = std::move(ids);
  query.scored_from = from;
  return query;
}

ScoreQuery ByText(const std::string& context, const std::string& continuation) {
  ScoreQuery query;
  query.text = context + continuation;
  query.boundary = context.size();
  query.send_text = true;
  return query;
}

std::string Refusal(LogprobForm form, const ScoreQuery& query, const std::string& body) {
  try {
    ReadScore(Facts(form), query, body);
  } catch (const CutAnswer&) {
    return "cut";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kModel);
    return error.what();
  }
  return "accepted";
}

TEST(ScoreRequestTest, BodiesOfEachForm) {
  const ScoreQuery ids = ByIds({1, 5, 7}, 2);
  HttpRequest request = MakeScoreRequest(Facts(LogprobForm::kEcho), ids);
  EXPECT_EQ(request.url, "http://h/v1/completions");
  EXPECT_EQ(request.body,
            R"({"model":"m","prompt":[1,5,7],"max_tokens":1,"temperature":0,"echo":true,)"
            R"("logprobs":1})");
  request = MakeScoreRequest(Facts(LogprobForm::kEcho), ByText("a", "b"));
  EXPECT_THAT(request.body, HasSubstr(R"("prompt":"ab")"));
  request = MakeScoreRequest(Facts(LogprobForm::kPromptLogprobs), ids);
  EXPECT_THAT(request.body, HasSubstr(R"("prompt_logprobs":1)"));
  request = MakeScoreRequest(Facts(LogprobForm::kSglang), ids);
  EXPECT_EQ(request.url, "http://h/generate");
  EXPECT_THAT(request.body, HasSubstr(R"("input_ids":[1,5,7])"));
  request = MakeForcedRequest(Facts(LogprobForm::kForced), ids.ids, 2);
  EXPECT_EQ(request.url, "http://h/completion");
  EXPECT_THAT(request.body, HasSubstr(R"("prompt":[1,5])"));
  EXPECT_THAT(request.body, HasSubstr(R"("logit_bias":[[7,1000000]])"));
}

TEST(PromptLogprobsTest, ReadsByIdAndDecidesTiesByTheLowestId) {
  const LogprobForm form = LogprobForm::kPromptLogprobs;
  const auto body = [](const std::string& last) {
    return R"({"choices": [{"prompt_logprobs": [null, {"5": {"logprob": -0.5, "rank": 1}}, )" +
           last + "]}]}";
  };
  const ScoreQuery query = ByIds({1, 5, 7}, 1);
  TokenScore score =
      ReadScore(Facts(form), query, body(R"({"7": {"logprob": -2.25}, "9": {"logprob": -0.25}})"));
  EXPECT_THAT(score.log_probs, ElementsAre(FloatEq(-0.5F), FloatEq(-2.25F)));
  EXPECT_FALSE(score.is_greedy);
  const auto greedy = [&](const std::string& last) {
    return ReadScore(Facts(form), query, body(last)).is_greedy;
  };
  EXPECT_TRUE(greedy(R"({"7": {"logprob": -1}})"));
  EXPECT_TRUE(greedy(R"({"10": {"logprob": -1}, "7": {"logprob": -1}})"));
  EXPECT_FALSE(greedy(R"({"6": {"logprob": -1}, "7": {"logprob": -1}})"));

  EXPECT_THAT(Refusal(form, query, body(R"({"8": {"logprob": -1}})")), HasSubstr("token 7"));
  EXPECT_THAT(Refusal(form, query, body("null")), HasSubstr("token 7"));
  EXPECT_THAT(Refusal(form, query, body(R"({"7": {"logprob": NaN}})")), HasSubstr("finite"));
  EXPECT_THAT(Refusal(form, query, body(R"({"7": {"logprob": 0.5}})")), HasSubstr("at most 0"));
  EXPECT_THAT(Refusal(form, query, body(R"({"7": {"logprob": "x"}})")), HasSubstr("log-prob"));
  EXPECT_THAT(Refusal(form, query, body(R"({"7": -1})")), HasSubstr("logprob"));
  EXPECT_THAT(Refusal(form, query, R"({"choices": [{"prompt_logprobs": [null]}]})"),
              HasSubstr("has 1 entries, expected 3"));
  EXPECT_THAT(Refusal(form, query, R"({"choices": []})"), HasSubstr("choices"));
  EXPECT_THAT(Refusal(form, query, R"({"error": {"message": "no"}})"), HasSubstr("error: no"));
  EXPECT_THAT(Refusal(form, query, "[1]"), HasSubstr("expected an object"));
  EXPECT_EQ(Refusal(form, query, R"({"choices": [{"prompt_logprobs": [nul)"), "cut");
  EXPECT_EQ(Refusal(form, query, ""), "cut");
  EXPECT_EQ(Refusal(form, query, std::string(1000, '[')), "cut");
}

TEST(SglangTest, ReadsTriples) {
  const LogprobForm form = LogprobForm::kSglang;
  const auto body = [](const std::string& tokens, const std::string& top) {
    return R"({"text": "x", "meta_info": {"input_token_logprobs": [[null, 1, null], )" + tokens +
           R"(], "input_top_logprobs": [null, )" + top + "]}}";
  };
  const ScoreQuery query = ByIds({1, 5}, 1);
  TokenScore score = ReadScore(Facts(form), query, body("[-1.5, 5, null]", "[[-1.5, 5, null]]"));
  EXPECT_THAT(score.log_probs, ElementsAre(FloatEq(-1.5F)));
  EXPECT_TRUE(score.is_greedy);
  EXPECT_FALSE(
      ReadScore(Facts(form), query, body("[-1.5, 5, null]", "[[-0.5, 4, null]]")).is_greedy);
  EXPECT_THAT(Refusal(form, query, body("[-1.5, 6, null]", "[[-1.5, 6]]")),
              HasSubstr("of token 6, expected 5"));
  EXPECT_THAT(Refusal(form, query, body("[null, 5, null]", "[[-1.5, 5]]")), HasSubstr("log-prob"));
  EXPECT_THAT(Refusal(form, query, body("[-1, 5]", "[]")), HasSubstr("expected a list"));
  EXPECT_THAT(Refusal(form, query, R"({"meta_info": []})"), HasSubstr("meta_info"));
}

TEST(ForcedTest, ReadsTheLogProbBeforeTheBias) {
  const auto body = [](const std::string& entry, int read = 2) {
    return fmt::format(
        R"({{"tokens_evaluated": {}, "truncated": false, "completion_probabilities": [{}]}})", read,
        entry);
  };
  const std::vector<TokenId> ids = {1, 5, 7};
  const std::string good =
      R"({"id": 7, "logprob": -16.5, "top_logprobs": [{"id": 4, "logprob": -0.125}]})";
  const ForcedScore score = ReadForced(ids, 2, body(good));
  EXPECT_FLOAT_EQ(score.log_prob, -16.5F);
  EXPECT_FALSE(score.is_greedy);
  EXPECT_TRUE(
      ReadForced(ids, 2,
                 body(R"({"id": 7, "logprob": -1, "top_logprobs": [{"id": 8, "logprob": -1}]})"))
          .is_greedy);
  EXPECT_THROW(ReadForced(ids, 2, body(good, 3)), Error);
  // The bias had no effect: another token was taken.
  EXPECT_THROW(
      ReadForced(ids, 2,
                 body(R"({"id": 4, "logprob": -1, "top_logprobs": [{"id": 4, "logprob": -1}]})")),
      Error);
  // What llama.cpp writes for a probability that underflowed.
  EXPECT_THROW(ReadForced(ids, 2, body(R"({"id": 7, "logprob": -3.4028234663852886e+38,
                                   "top_logprobs": [{"id": 4, "logprob": -1}]})")),
               Error);
  EXPECT_THROW(ReadForced(ids, 2, R"({"tokens_evaluated": 2, "truncated": "x"})"), Error);
}

/// An answer as a server gives it; offsets as text.
std::string Echo(const std::vector<std::string>& tokens, const std::vector<double>& log_probs,
                 const std::string& offsets, int read) {
  core::Json lists;
  lists["tokens"] = tokens;
  lists["token_logprobs"] = {nullptr};
  lists["top_logprobs"] = {nullptr};
  for (size_t i = 0; i < log_probs.size(); ++i) {
    lists["token_logprobs"].push_back(log_probs[i]);
    lists["top_logprobs"].push_back({{tokens[i + 1], log_probs[i]}});
  }
  lists["text_offset"] = core::Json::parse(offsets);
  core::Json body;
  body["choices"] = {{{"text", ""}, {"logprobs", lists}}};
  body["usage"] = {{"prompt_tokens", read}, {"completion_tokens", 1}};
  return body.dump();
}

TEST(EchoTest, FindsTheBoundaryByTheTokensText) {
  const std::string body = Echo({"It", " is", " so", "!"}, {-1, -2, -0.5}, "[0, 2, 5, 8]", 3);
  const LogprobForm form = LogprobForm::kEcho;
  TokenScore score = ReadScore(Facts(form), ByText("It", " is so"), body);
  EXPECT_THAT(score.log_probs, ElementsAre(-1, -2));
  EXPECT_TRUE(score.is_greedy);
  EXPECT_THAT(ReadScore(Facts(form), ByText("It is", " so"), body).log_probs, ElementsAre(-2));
  EXPECT_THAT(Refusal(form, ByText("It i", "s so"), body), HasSubstr("crosses the boundary"));
  EXPECT_THAT(Refusal(form, ByText("", "It is so"), body), HasSubstr("empty context"));
  EXPECT_THAT(Refusal(form, ByText("It", " was so"), body), HasSubstr("don't make up the text"));
  EXPECT_THAT(ReadScore(Facts(form), ByIds({9, 8, 7}, 1), body).log_probs, ElementsAre(-1, -2));
  EXPECT_THAT(Refusal(form, ByIds({9, 8}, 1), body), HasSubstr("read 3 tokens, expected the 2"));
}

TEST(EchoTest, AStartTokenOrASpaceInFrontMovesTheText) {
  const LogprobForm form = LogprobForm::kEcho;
  const std::string with_space = Echo({" It", " is", "!"}, {-1, -2}, "[0, 3, 6]", 2);
  EXPECT_THAT(ReadScore(Facts(form), ByText("It", " is"), with_space).log_probs, ElementsAre(-1));
  const std::string with_bos = Echo({"<s>", "It", " is", "!"}, {-3, -1, -2}, "[0, 3, 5, 8]", 3);
  EXPECT_THAT(ReadScore(Facts(form), ByText("It", " is"), with_bos).log_probs, ElementsAre(-1));
  EXPECT_THAT(ReadScore(Facts(form), ByText("", "It is"), with_bos).log_probs, ElementsAre(-3, -1));
}

TEST(EchoTest, OffsetsDecideWhereTokensArePartsOfCharacters) {
  // As llama-cpp-python answers: bytes of a character have no text, a space is in front, the
  // offsets count it from the second token on.
  const LogprobForm form = LogprobForm::kEcho;
  const std::string body = Echo({" was", " ", "", "", "", " a", "re"}, {-1, -2, -3, -4, -5, -6},
                                "[0, 4, 5, 5, 5, 6, 8]", 7);
  EXPECT_THAT(ReadScore(Facts(form), ByText("was", " 你 a"), body).log_probs,
              ElementsAre(-1, -2, -3, -4, -5));
  EXPECT_THAT(ReadScore(Facts(form), ByText("was 你", " a"), body).log_probs, ElementsAre(-5));
  EXPECT_THAT(Refusal(form, ByText("wa", "s 你 a"), body), HasSubstr("crosses the boundary"));
  EXPECT_THAT(Refusal(form, ByText("was", " 你 and"), body), HasSubstr("don't make up the text"));
}

TEST(EchoTest, KnownIdsMustBeAsManyAsTheServerRead) {
  const LogprobForm form = LogprobForm::kEcho;
  ScoreQuery query = ByText("It", " is");
  query.ids = {256, 10, 11};  // BOS, which the server reads and doesn't list
  query.scored_from = 2;
  query.starts_with_bos = true;
  EXPECT_THAT(
      ReadScore(Facts(form), query, Echo({" It", " is", "!"}, {-1, -2}, "[0, 3, 6]", 3)).log_probs,
      ElementsAre(-1));
  EXPECT_THAT(ReadScore(Facts(form), query,
                        Echo({"<s>", "It", " is", "!"}, {-3, -1, -2}, "[0, 3, 5, 8]", 3))
                  .log_probs,
              ElementsAre(-1));
  EXPECT_THAT(Refusal(form, query, Echo({" It", " i", "s", "!"}, {-1, -2, -2}, "[0,3,5,6]", 4)),
              HasSubstr("4 tokens, the local tokenizer as 3"));
  query.ids = {10, 11};
  query.scored_from = 1;
  query.starts_with_bos = false;
  EXPECT_THAT(Refusal(form, query, Echo({" It", " is", "!"}, {-1, -2}, "[0, 3, 6]", 3)),
              HasSubstr("a start token that one of them adds"));
}

TEST(EchoTest, OtherTokensThatAreLikelierMakeItNotGreedy) {
  core::Json body = core::Json::parse(Echo({"It", " is", "!"}, {-1, -2}, "[0, 2, 5]", 2));
  auto& top = body["choices"][0]["logprobs"]["top_logprobs"];
  top[1] = {{" was", -0.5}, {" is", -1}};
  const ScoreQuery query = ByText("It", " is");
  EXPECT_FALSE(ReadScore(Facts(LogprobForm::kEcho), query, body.dump()).is_greedy);
  top[1] = nullptr;
  EXPECT_THAT(Refusal(LogprobForm::kEcho, query, body.dump()), HasSubstr("top_logprobs 1"));
  top.erase(2);
  EXPECT_THAT(Refusal(LogprobForm::kEcho, query, body.dump()), HasSubstr("one entry a token"));
  EXPECT_THAT(
      Refusal(LogprobForm::kEcho, query, R"({"choices":[{"text":"!","logprobs":{"content":[]}}]})"),
      HasSubstr("no list \"tokens\""));
  EXPECT_THAT(Refusal(LogprobForm::kEcho, query, R"({"choices":[{"logprobs":null}]})"),
              HasSubstr("\"logprobs\""));
}

}  // namespace
}  // namespace natsl::model_adapters
