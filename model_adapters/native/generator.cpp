// Groups of prompts: shared prefix once, packed prefill, then steps of all that still run.
#include "model_adapters/native/generator.h"

#include <algorithm>

#include "core/cast.h"
#include "core/error.h"
#include "kernels/common.h"
#include "model_adapters/native/sampler.h"
#include "model_adapters/score_plan.h"

namespace natsl::model_adapters::native {
namespace {

// A sequence being generated.
struct Running {
  size_t request = 0;
  std::unique_ptr<RunnerState> state;
  Random random;
  TokenId next = 0;  ///< chosen, not yet fed
};

class Generator {
 public:
  Generator(Runner& runner, std::span<const TokenGenerateRequest> requests,
            const GenerateLimits& limits, std::span<TokenGeneration> results,
            BatchListener& listener)
      : runner_(runner),
        requests_(requests),
        limits_(limits),
        results_(results),
        listener_(listener) {}

  void Run() {
    for (const std::vector<size_t>& group : GenerateGroups(requests_, limits_)) {
      const bool wanted =
          std::any_of(group.begin(), group.end(), [&](size_t r) { return listener_.Wanted(r); });
      if (!wanted) continue;
      if (listener_.StopRequested()) return;
      RunGroup(group);
    }
  }

 private:
  void RunGroup(std::span<const size_t> group) {
    tokens_ = 0;
    std::vector<Running> running;
    Prefill(group, running);
    // A prompt that asks for nothing is done before its first token.
    AcceptAll(running);
    while (!running.empty()) {
      std::vector<RunnerPiece> pieces;
      std::vector<int64_t> rows;
      for (Running& r : running) {
        rows.push_back(core::Size(pieces));
        pieces.push_back({r.state.get(), std::span(&r.next, 1), true});
      }
      Pass(pieces);
      Choose(std::span(running), rows);
      AcceptAll(running);
    }
    listener_.OnBatch(group, tokens_);
  }

  // Feeds all prompts; each sequence then has its first token chosen.
  void Prefill(std::span<const size_t> group, std::vector<Running>& running) {
    const auto& first = requests_[group.front()].prompt;
    int64_t shared = limits_.share_prefixes && group.size() > 1 ? core::Size(first) : 0;
    for (const size_t r : group) {
      if (requests_[r].prompt.empty()) throw InternalError("generate request {}: no prompt", r);
      results_[r] = {};
      shared = std::min(
          {shared, CommonPrefix(first, requests_[r].prompt), core::Size(requests_[r].prompt) - 1});
    }
    const std::unique_ptr<RunnerState> prefix = runner_.NewState();
    if (shared >= kMinSharedTokens) {
      for (int64_t begin = 0; begin < shared; begin += limits_.batch_tokens) {
        const int64_t count = std::min(limits_.batch_tokens, shared - begin);
        const RunnerPiece piece = {
            prefix.get(),
            std::span(first).subspan(static_cast<size_t>(begin), static_cast<size_t>(count)), true};
        Pass(std::span(&piece, 1));
      }
    }
    for (const size_t r : group) {
      running.push_back({r, prefix->Fork(), Random(requests_[r].sampling.seed), 0});
    }
    for (size_t begin = 0; begin < running.size();) begin = PrefillSome(running, begin);
  }

  // Feeds prompts from running[begin] on until the pass is full; returns the first one not fed.
  size_t PrefillSome(std::vector<Running>& running, size_t begin) {
    std::vector<RunnerPiece> pieces;
    std::vector<int64_t> last_rows;
    int64_t tokens = 0;
    size_t end = begin;
    for (; end < running.size(); ++end) {
      const auto prompt = std::span(requests_[running[end].request].prompt)
                              .subspan(static_cast<size_t>(running[end].state->length()));
      const int64_t room = limits_.batch_tokens - tokens;
      if (core::Size(prompt) > room) {
        if (end > begin) break;
        // Alone too long for a pass: a piece now, the rest in the next.
        pieces.push_back({running[end].state.get(), prompt.first(static_cast<size_t>(room)), true});
        Pass(pieces);
        return begin;
      }
      pieces.push_back({running[end].state.get(), prompt, true});
      tokens += core::Size(prompt);
      last_rows.push_back(tokens - 1);
    }
    Pass(pieces);
    Choose(std::span(running).subspan(begin, end - begin), last_rows);
    return end;
  }

  void Pass(std::span<const RunnerPiece> pieces) {
    runner_.Forward(pieces);
    for (const RunnerPiece& piece : pieces) tokens_ += core::Size(piece.ids);
  }

  void Choose(std::span<Running> running, std::span<const int64_t> rows) const {
    std::vector<Chooser> choosers;
    for (Running& r : running) choosers.push_back({&requests_[r.request].sampling, &r.random});
    const std::vector<TokenId> chosen = runner_.Choose(rows, choosers);
    for (size_t i = 0; i < running.size(); ++i) running[i].next = chosen[i];
  }

  // Takes the chosen tokens; sequences that end leave, with what their NAtS-L heads chose.
  void AcceptAll(std::vector<Running>& running) {
    const auto ended = std::stable_partition(running.begin(), running.end(),
                                             [&](Running& r) { return !Accept(r); });
    if (runner_.nats_heads() > 0 && ended != running.end()) {
      std::vector<RunnerState*> states;
      for (auto r = ended; r != running.end(); ++r) states.push_back(r->state.get());
      std::vector<std::vector<int32_t>> counts = runner_.CountSoftmax(states)();
      for (auto r = ended; r != running.end(); ++r) {
        results_[r->request].softmax = {r->state->length() / kernels::kPageTokens,
                                        std::move(counts[static_cast<size_t>(r - ended)])};
      }
    }
    running.erase(ended, running.end());
  }

  // Takes the chosen token into the result; true where the sequence ends.
  bool Accept(Running& running) const {
    const TokenGenerateRequest& request = requests_[running.request];
    TokenGeneration& result = results_[running.request];
    result.finish = FinishReason::kLength;
    if (core::Size(result.ids) >= request.max_new_tokens) return true;
    if (running.next == kNoToken) {
      result.error =
          "the model's logits aren't numbers: its weights hold values that are none, or are too "
          "large to compute with";
      return true;
    }
    if (std::find(request.eos.begin(), request.eos.end(), running.next) != request.eos.end()) {
      result.finish = FinishReason::kEos;
      return true;
    }
    result.ids.push_back(running.next);
    if (request.stop && request.stop(result.ids)) {
      result.finish = FinishReason::kStop;
      return true;
    }
    return core::Size(result.ids) >= request.max_new_tokens;
  }

  Runner& runner_;
  std::span<const TokenGenerateRequest> requests_;
  GenerateLimits limits_;
  std::span<TokenGeneration> results_;
  BatchListener& listener_;
  int64_t tokens_ = 0;
};

}  // namespace

void GenerateAll(Runner& runner, std::span<const TokenGenerateRequest> requests,
                 const GenerateLimits& limits, std::span<TokenGeneration> results,
                 BatchListener& listener) {
  Generator(runner, requests, limits, results, listener).Run();
}

}  // namespace natsl::model_adapters::native
