// Models that run elsewhere: what servers and processes answer; and texts of the command line.
#include <algorithm>
#include <charconv>

#include "core/clock.h"
#include "latency/record/lengths.h"
#include "model_adapters/remote/generation.h"
#include "model_adapters/remote/model_string.h"
#include "model_adapters/remote/openai_probe.h"
#include "model_adapters/remote/process_protocol.h"
#include "model_adapters/remote/request_pool.h"
#include "model_adapters/remote/scoring.h"
#include "model_adapters/scripted_model.h"
#include "tests/fuzz/targets.h"
#include "tests/fuzz/targets/support.h"

namespace natsl::fuzz {
namespace {

using namespace model_adapters;

/// As Refusable, for readers that may also say that an answer was cut.
template <typename Read>
void RefusableOrCut(const Read& read) {
  try {
    Refusable(read);
  } catch (const CutAnswer&) {
  }
}

/// Answers each request by the next part of an input, "STATUS BODY"; the last one from then on.
class PlayedTransport final : public Transport {
 public:
  PlayedTransport(std::vector<std::string_view> answers, core::FakeClock& clock)
      : answers_(std::move(answers)), clock_(clock) {}

  void Start(uint64_t ticket, const HttpRequest&) override {
    const std::string_view text = answers_[std::min(next_++, answers_.size() - 1)];
    HttpAnswer answer;
    const size_t space = std::min(text.find(' '), text.size());
    std::from_chars(text.data(), text.data() + space, answer.status);
    answer.body = text.substr(std::min(space + 1, text.size()));
    ended_.emplace_back(ticket, std::move(answer));
  }
  std::vector<std::pair<uint64_t, HttpAnswer>> Wait(int64_t milliseconds) override {
    clock_.Advance(milliseconds * 1'000'000);
    return std::exchange(ended_, {});
  }
  void CancelAll() override { ended_.clear(); }

 private:
  std::vector<std::string_view> answers_;
  core::FakeClock& clock_;
  size_t next_ = 0;
  std::vector<std::pair<uint64_t, HttpAnswer>> ended_;
};

}  // namespace

void FuzzServedAnswer(std::string_view input) {
  const std::string body(input);
  const std::vector<TokenId> ids = {1, 5, 6, 7};
  RefusableOrCut([&] { ReadForced(ids, 2, body); });
  for (const LogprobForm form :
       {LogprobForm::kPromptLogprobs, LogprobForm::kSglang, LogprobForm::kEcho}) {
    for (const bool send_text : {false, true}) {
      for (const bool known : {false, true}) {
        if (!known && !send_text) continue;
        ServerFacts facts;
        facts.logprobs = form;
        facts.takes_ids = !send_text;
        ScoreQuery query;
        if (known) query.ids = ids;
        query.scored_from = 2;
        query.text = "The quick brown";
        query.boundary = 9;
        query.send_text = send_text;
        query.starts_with_bos = known;
        RefusableOrCut([&] { ReadScore(facts, query, body); });
        RefusableOrCut([&] { EchoedText(facts, query, body); });
      }
    }
  }
  for (const bool chat : {false, true}) {
    for (const char* kind : {"unknown", "vllm", "sglang", "llama.cpp"}) {
      ServerFacts facts;
      facts.chat = chat;
      facts.kind = kind;
      GenerateQuery query;
      query.ids = ids;
      query.text = "The quick brown";
      query.send_text = chat;
      query.stop = {"\n"};
      query.max_new_tokens = 4;
      query.eos = {2};
      RefusableOrCut([&] { ReadGeneration(facts, query, body); });
    }
  }
  ErrorMessage(body);
}

void FuzzServerProbe(std::string_view input) {
  core::FakeClock clock;
  ServedOptions options;
  options.url = "http://127.0.0.1:1/v1";
  options.retry.attempts = 2;
  OpenAiServer server(options, std::make_unique<PlayedTransport>(Parts(input, 1), clock), clock, 1);
  RefusableOrCut([&] { Probe(server, nullptr); });
}

void FuzzProcessLine(std::string_view input) {
  const std::string line(input);
  const auto attempt = [](const auto& read) {
    try {
      Refusable(read);
    } catch (const ProtocolError&) {
    }
  };
  attempt([&] { ReadHello(line); });
  attempt([&] {
    const ProcessAnswer answer = ReadAnswerId(line);
    attempt([&] {
      LoglikelihoodResult result;
      ReadResult(answer, result);
    });
    attempt([&] {
      RollingResult result;
      ReadResult(answer, result);
    });
    attempt([&] {
      GenerateResult result;
      ReadResult(answer, result);
    });
    attempt([&] { ReadTokenCount(answer); });
  });
}

void FuzzExpression(std::string_view input) {
  Refusable([&] {
    for (const int64_t length : latency::ParseLengths(input, "--prompt", 1)) {
      latency::FormatLength(length);
    }
  });
  Refusable([&] { latency::ParseShares(input, "--softmax-share"); });
  Refusable([&] { ParseServed(std::string(kOpenAiPrefix) + std::string(input)); });
  Refusable([&] { ParseProcess(std::string(kProcessPrefix) + std::string(input)); });
  Refusable([&] { SplitModels(input); });
}

void FuzzScript(std::string_view input) {
  const std::filesystem::path file = ScratchFile("script.jsonl", input);
  Refusable([&] { OpenScriptedModel(file); });
}

}  // namespace natsl::fuzz
