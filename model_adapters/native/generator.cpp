// Groups of prompts: shared prefix once, packed prefill, then steps of all that still run.
#include "model_adapters/native/generator.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "core/cast.h"
#include "core/error.h"
#include "model_adapters/native/plan.h"
#include "model_adapters/native/sampler.h"

namespace natsl::model_adapters::native {
namespace {

// A sequence being generated.
struct Running {
  size_t request = 0;
  SequenceState state;
  Random random;
  TokenId next = 0;  ///< chosen, not yet fed
};

class Generator {
 public:
  Generator(const Network& network, std::span<const TokenGenerateRequest> requests,
            const GenerateLimits& limits, std::span<TokenGeneration> results,
            BatchListener& listener, ChunkChoices* choices)
      : network_(network),
        requests_(requests),
        limits_(limits),
        results_(results),
        listener_(listener),
        choices_(choices) {}

  void Run() {
    std::vector<size_t> order(requests_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      const auto& x = requests_[a];
      const auto& y = requests_[b];
      return std::tie(x.prompt, x.max_new_tokens, x.sampling.seed, a) <
             std::tie(y.prompt, y.max_new_tokens, y.sampling.seed, b);
    });
    for (size_t begin = 0; begin < order.size();) {
      size_t end = begin;
      int64_t tokens = 0;
      while (end < order.size()) {
        const auto& request = requests_[order[end]];
        tokens += core::Size(request.prompt) + request.max_new_tokens;
        const bool full = static_cast<int64_t>(end - begin) == limits_.max_sequences ||
                          tokens > limits_.held_tokens;
        if (full && end > begin) break;
        ++end;
      }
      const auto group = std::span(order).subspan(begin, end - begin);
      const bool wanted =
          std::any_of(group.begin(), group.end(), [&](size_t r) { return listener_.Wanted(r); });
      if (wanted) {
        if (listener_.StopRequested()) return;
        RunGroup(group);
      }
      begin = end;
    }
  }

 private:
  void RunGroup(std::span<const size_t> group) {
    tokens_ = 0;
    std::vector<Running> running;
    Prefill(group, running);
    // A prompt that asks for nothing is done before its first token.
    std::erase_if(running, [&](Running& r) { return Accept(r); });
    while (!running.empty()) {
      Batch batch;
      batch.choices = choices_;
      for (Running& r : running) batch.Add(r.state, std::span(&r.next, 1), true);
      tokens_ += batch.tokens();
      const at::Tensor logits = network_.Logits(network_.Forward(batch));
      for (size_t i = 0; i < running.size(); ++i) Choose(running[i], logits, i);
      std::erase_if(running, [&](Running& r) { return Accept(r); });
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
    SequenceState prefix = network_.NewState();
    if (shared >= kMinSharedTokens) {
      for (int64_t begin = 0; begin < shared; begin += limits_.batch_tokens) {
        const int64_t count = std::min(limits_.batch_tokens, shared - begin);
        Batch batch;
        batch.choices = choices_;
        batch.Add(prefix,
                  std::span(first).subspan(static_cast<size_t>(begin), static_cast<size_t>(count)),
                  true);
        network_.Forward(batch);
        tokens_ += count;
      }
    } else {
      shared = 0;
    }
    for (const size_t r : group) {
      running.push_back({r, prefix, Random(requests_[r].sampling.seed), 0});
    }
    for (size_t begin = 0; begin < running.size();) begin = PrefillSome(running, begin);
  }

  // Feeds prompts from running[begin] on until the pass is full; returns the first one not fed.
  size_t PrefillSome(std::vector<Running>& running, size_t begin) {
    Batch batch;
    batch.choices = choices_;
    std::vector<int64_t> last_rows;
    size_t end = begin;
    for (; end < running.size(); ++end) {
      const auto prompt = std::span(requests_[running[end].request].prompt)
                              .subspan(static_cast<size_t>(running[end].state.length));
      const int64_t room = limits_.batch_tokens - batch.tokens();
      if (core::Size(prompt) > room) {
        if (end > begin) break;
        // Alone too long for a pass: a piece now, the rest in the next.
        batch.Add(running[end].state, prompt.first(static_cast<size_t>(room)), true);
        network_.Forward(batch);
        tokens_ += batch.tokens();
        return begin;
      }
      batch.Add(running[end].state, prompt, true);
      last_rows.push_back(batch.tokens() - 1);
    }
    tokens_ += batch.tokens();
    const at::Tensor x = network_.Forward(batch);
    const at::Tensor rows = at::tensor(last_rows, at::kLong);
    const at::Tensor logits = network_.Logits(x.index_select(0, rows));
    for (size_t i = begin; i < end; ++i) Choose(running[i], logits, i - begin);
    return end;
  }

  void Choose(Running& running, const at::Tensor& logits, size_t row) const {
    const auto width = static_cast<size_t>(network_.spec().vocabulary);
    running.next = Sample(std::span(logits.data_ptr<float>() + row * width, width),
                          requests_[running.request].sampling, running.random);
  }

  // Takes the chosen token into the result; true where the sequence ends.
  bool Accept(Running& running) const {
    const TokenGenerateRequest& request = requests_[running.request];
    TokenGeneration& result = results_[running.request];
    result.finish = FinishReason::kLength;
    if (core::Size(result.ids) >= request.max_new_tokens) return true;
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

  const Network& network_;
  std::span<const TokenGenerateRequest> requests_;
  GenerateLimits limits_;
  std::span<TokenGeneration> results_;
  BatchListener& listener_;
  ChunkChoices* choices_;
  int64_t tokens_ = 0;
};

}  // namespace

void GenerateAll(const Network& network, std::span<const TokenGenerateRequest> requests,
                 const GenerateLimits& limits, std::span<TokenGeneration> results,
                 BatchListener& listener, ChunkChoices* choices) {
  Generator(network, requests, limits, results, listener, choices).Run();
}

}  // namespace natsl::model_adapters::native
