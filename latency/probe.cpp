#include "latency/probe.h"

#include <algorithm>

#include "core/cast.h"
#include "core/error.h"
#include "core/python_random.h"

namespace natsl::latency {
namespace {

using model_adapters::Session;
using model_adapters::TokenId;
using model_adapters::TokenModel;

// Ids of `tokens` tokens for each of `batch` sequences, [batch, tokens].
std::vector<TokenId> MakeIds(const TokenModel& model, const ProbeOptions& options, int64_t batch,
                             int64_t tokens) {
  std::vector<TokenId> ids;
  ids.reserve(static_cast<size_t>(batch * tokens));
  core::PythonRandom random(options.seed);
  for (int64_t i = 0; i < batch * tokens; ++i) {
    if (options.data.empty()) {
      ids.push_back(static_cast<TokenId>(random.RandBelow(model.Info().vocabulary)));
    } else {
      // Each sequence starts elsewhere in the text.
      const int64_t sequence = i / tokens, offset = sequence * 7919 + i % tokens;
      ids.push_back(options.data[static_cast<size_t>(offset % core::Size(options.data))]);
    }
  }
  return ids;
}

/// From the device being idle to the device being idle again.
class Stopwatch {
 public:
  Stopwatch(const core::Clock& clock) : clock_(clock), begin_ns_(clock.NowNs()) {}
  double Seconds() const { return static_cast<double>(clock_.NowNs() - begin_ns_) * 1e-9; }

 private:
  const core::Clock& clock_;
  int64_t begin_ns_;
};

// The greedy next id of each sequence, on the host.
std::vector<TokenId> GreedyIds(Session& session) {
  const std::vector<float> log_probs = session.NextLogProbs();
  const size_t width = log_probs.size() / static_cast<size_t>(session.batch());
  std::vector<TokenId> ids;
  for (auto row = log_probs.begin(); row != log_probs.end();
       row += static_cast<std::ptrdiff_t>(width)) {
    const auto best = std::max_element(row, row + static_cast<std::ptrdiff_t>(width));
    ids.push_back(static_cast<TokenId>(best - row));
  }
  return ids;
}

class PromptProbe final : public Probe {
 public:
  PromptProbe(TokenModel& model, const Point& point, const ProbeOptions& options,
              const core::Clock& clock)
      : model_(model),
        point_(point),
        clock_(clock),
        ids_(MakeIds(model, options, point.batch, point.prompt)) {}

  double Sample(const SessionView& view) override {
    std::unique_ptr<Session> session;
    const bool made_before = point_.phase == Phase::kPrefill;
    if (made_before) {
      session = model_.NewSession(point_.batch);
      session->Synchronize();
    }
    const Stopwatch watch(clock_);
    if (!made_before) session = model_.NewSession(point_.batch);
    session->Prefill(ids_);
    if (point_.phase == Phase::kEndToEnd && point_.new_tokens > 1) {
      session->Decode(point_.new_tokens - 1);
    }
    if (!made_before) GreedyIds(*session);
    session->Synchronize();
    const double seconds = watch.Seconds();
    if (view) view(*session);
    return seconds;
  }

 private:
  TokenModel& model_;
  Point point_;
  const core::Clock& clock_;
  std::vector<TokenId> ids_;
};

/// A session of a point's depth that samples fork from.
std::unique_ptr<Session> SessionAt(TokenModel& model, const Point& point, int64_t length,
                                   const ProbeOptions& options) {
  // Real tokens before a state is grown: enough for every kind of layer to hold something.
  constexpr int64_t kSeedTokens = 1024;
  constexpr int64_t kGrain = 64;
  int64_t computed = length;
  if (options.synthetic_depth && length > kSeedTokens) {
    computed = kSeedTokens - kGrain + length % kGrain;
  }
  std::unique_ptr<Session> session = model.NewSession(point.batch);
  session->Prefill(MakeIds(model, options, point.batch, computed));
  if (computed < length && !session->GrowSynthetic(length)) {
    throw UsageError(
        "--depth-state synthetic: {} has no synthetic states on {}; use --depth-state prefill",
        model.Info().name, model.Info().device);
  }
  session->Synchronize();
  return session;
}

class DecodeProbe final : public Probe {
 public:
  DecodeProbe(TokenModel& model, const Point& point, const ProbeOptions& options,
              const core::Clock& clock)
      : point_(point),
        clock_(clock),
        // One token short: the untimed first step of a sample makes the fork's state its own.
        short_by_one_(point.depth > 1),
        base_(SessionAt(model, point, std::max<int64_t>(1, point.depth - 1), options)) {}

  double Sample(const SessionView& view) override {
    const std::unique_ptr<Session> session = Fork();
    const Stopwatch watch(clock_);
    session->Decode(point_.new_tokens);
    session->Synchronize();
    const double seconds = watch.Seconds();
    if (view) view(*session);
    return seconds / static_cast<double>(point_.new_tokens);
  }

  std::vector<double> Steps(double max_seconds) override {
    const std::unique_ptr<Session> session = Fork();
    std::vector<double> steps;
    const Stopwatch all(clock_);
    for (int64_t i = 0; i == 0 || (i < point_.new_tokens && all.Seconds() < max_seconds); ++i) {
      const Stopwatch watch(clock_);
      session->Decode(1);
      session->Synchronize();
      steps.push_back(watch.Seconds());
    }
    return steps;
  }

 private:
  std::unique_ptr<Session> Fork() {
    std::unique_ptr<Session> session = base_->Fork();
    if (short_by_one_) session->Decode(1);
    session->Synchronize();
    return session;
  }

  Point point_;
  const core::Clock& clock_;
  bool short_by_one_;
  std::unique_ptr<Session> base_;
};

class SampleProbe final : public Probe {
 public:
  SampleProbe(TokenModel& model, const Point& point, const ProbeOptions& options,
              const core::Clock& clock)
      : clock_(clock), base_(SessionAt(model, point, std::max<int64_t>(1, point.depth), options)) {}

  double Sample(const SessionView& view) override {
    const std::unique_ptr<Session> session = base_->Fork();
    session->Synchronize();
    const Stopwatch watch(clock_);
    GreedyIds(*session);
    const double seconds = watch.Seconds();
    if (view) view(*session);
    return seconds;
  }

 private:
  const core::Clock& clock_;
  std::unique_ptr<Session> base_;
};

class TokenizeProbe final : public Probe {
 public:
  TokenizeProbe(const model_adapters::Tokenizer& tokenizer, const Point& point,
                const ProbeOptions& options, const core::Clock& clock)
      : tokenizer_(tokenizer), batch_(point.batch), clock_(clock) {
    const std::string source =
        options.text.empty() ? "The river rose at night, and nobody in the village slept. Prices "
                               "had doubled since 1998; the mill stood empty.\n"
                             : options.text;
    // By doubling, then cut to the share that gives the wished number of tokens.
    text_ = source;
    int64_t tokens = core::Size(tokenizer.Encode(text_, false));
    if (tokens == 0) throw UsageError("the text to tokenize has no tokens");
    while (tokens < point.prompt) {
      text_ += text_;
      const int64_t doubled = core::Size(tokenizer.Encode(text_, false));
      // One unknown token, say, whatever the length.
      if (doubled <= tokens) {
        throw UsageError("the text to tokenize has {} tokens, and no more when it is repeated",
                         doubled);
      }
      tokens = doubled;
    }
    size_t cut =
        static_cast<size_t>(static_cast<double>(text_.size()) * static_cast<double>(point.prompt) /
                            static_cast<double>(tokens));
    while (cut < text_.size() && (static_cast<unsigned char>(text_[cut]) & 0xC0) == 0x80) ++cut;
    text_.resize(std::max<size_t>(1, cut));
  }

  double Sample(const SessionView&) override {
    const Stopwatch watch(clock_);
    for (int64_t i = 0; i < batch_; ++i) tokenizer_.Encode(text_, false);
    const double seconds = watch.Seconds();
    return seconds;
  }

 private:
  const model_adapters::Tokenizer& tokenizer_;
  int64_t batch_;
  const core::Clock& clock_;
  std::string text_;
};

}  // namespace

std::unique_ptr<Probe> MakeProbe(const Target& target, const Point& point,
                                 const ProbeOptions& options, const core::Clock& clock) {
  switch (point.phase) {
    case Phase::kPrefill:
    case Phase::kFirstToken:
    case Phase::kEndToEnd:
      return std::make_unique<PromptProbe>(*target.model, point, options, clock);
    case Phase::kDecode:
      return std::make_unique<DecodeProbe>(*target.model, point, options, clock);
    case Phase::kSample:
      return std::make_unique<SampleProbe>(*target.model, point, options, clock);
    case Phase::kTokenize:
      if (target.tokenizer == nullptr) {
        throw UsageError("the phase tokenize needs a tokenizer, and {} has none",
                         target.model->Info().name);
      }
      return std::make_unique<TokenizeProbe>(*target.tokenizer, point, options, clock);
  }
  throw InternalError("a phase without a probe");
}

}  // namespace natsl::latency
