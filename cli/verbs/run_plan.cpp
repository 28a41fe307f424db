#include "cli/verbs/run_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cli/expected_memory.h"
#include "core/cast.h"
#include "core/threads.h"
#include "model_adapters/generate_groups.h"
#include "model_adapters/request_encoding.h"
#include "model_adapters/score_plan.h"
#include "model_adapters/spec/checkpoint.h"
#include "reports/console_table.h"

namespace natsl::cli {
namespace {

using evaluators::RequestKind;
using evaluators::RequestPlan;
using evaluators::RequestSlot;
using model_adapters::GenerateLimits;
using model_adapters::ScorePlan;
using model_adapters::TokenGenerateRequest;
using model_adapters::TokenScoreRequest;

/// What the model will be asked, in ids: lists that are planned by themselves.
struct Encoded {
  std::vector<std::vector<TokenScoreRequest>> scores;
  std::vector<std::vector<TokenGenerateRequest>> generate;
  int64_t skipped = 0, truncated = 0;
  int64_t failed = 0;
  std::string first_failure;
};

class Encoder {
 public:
  Encoder(const std::vector<evaluators::SelectedTask>& tasks, const RequestPlan& plan,
          const ModelOptions& options, int64_t max_length)
      : tasks_(tasks),
        plan_(plan),
        options_(options),
        tokenizer_(OpenModelTokenizer(options)),
        bos_(ToBosPolicy(options.bos)),
        max_length_(max_length > 0 ? max_length : tokenizer_->model_max_length().value_or(2048)) {}

  Encoded Encode() {
    ForEach(RequestKind::kLoglikelihood, plan_.loglikelihood, out_.scores,
            [&](const auto& request, size_t i) -> std::vector<TokenScoreRequest> {
              auto pair = model_adapters::EncodePair(*tokenizer_, request.context,
                                                     request.continuation, bos_, max_length_);
              if (!Admit(i, pair.dropped)) return {};
              TokenScoreRequest tokens;
              tokens.scored_from = core::Size(pair.context);
              tokens.ids = std::move(pair.context);
              tokens.ids.insert(tokens.ids.end(), pair.continuation.begin(),
                                pair.continuation.end());
              return {std::move(tokens)};
            });
    ForEach(RequestKind::kRolling, plan_.rolling, out_.scores, [&](const auto& request, size_t i) {
      auto encoded = model_adapters::EncodeRolling(*tokenizer_, request, bos_, max_length_);
      skipped_[i] = encoded.missing > 0;
      return std::move(encoded.windows);
    });
    ForEach(RequestKind::kGenerate, plan_.generate, out_.generate,
            [&](const auto& request, size_t i) -> std::vector<TokenGenerateRequest> {
              auto prompt =
                  model_adapters::EncodePrompt(*tokenizer_, request.prompt, bos_, max_length_,
                                               request.max_new_tokens, request.middle_truncate_to);
              if (!Admit(i, prompt.dropped)) return {};
              TokenGenerateRequest tokens;
              tokens.prompt = std::move(prompt.ids);
              tokens.max_new_tokens = request.max_new_tokens;
              return {std::move(tokens)};
            });
    return std::move(out_);
  }

 private:
  /// Encodes all requests of a kind, into lists as the model plans them.
  template <typename Request, typename TokenRequest, typename Body>
  void ForEach(RequestKind kind, const std::vector<Request>& requests,
               std::vector<std::vector<TokenRequest>>& lists, Body&& body) {
    std::vector<std::string> failures(requests.size());
    std::vector<std::vector<TokenRequest>> encoded(requests.size());
    truncated_.assign(requests.size(), 0);
    skipped_.assign(requests.size(), 0);
    core::ParallelFor(core::Size(requests), options_.threads, [&](int64_t from, int64_t to) {
      for (int64_t i = from; i < to; ++i) {
        const auto at = static_cast<size_t>(i);
        try {
          encoded[at] = body(requests[at], at);
        } catch (const model_adapters::ContinuationTooLong& error) {
          if (options_.truncation == "skip") {
            skipped_[at] = 1;
          } else {
            failures[at] = error.what();
          }
        } catch (const Error& error) {
          if (error.code() != ErrorCode::kData) throw;
          failures[at] = error.what();
        }
      }
    });
    for (size_t i = 0; i < requests.size(); ++i) {
      if (i % model_adapters::kRequestsAtOnce == 0) lists.emplace_back();
      std::move(encoded[i].begin(), encoded[i].end(), std::back_inserter(lists.back()));
      out_.truncated += truncated_[i];
      out_.skipped += skipped_[i];
      if (failures[i].empty() || ++out_.failed > 1) continue;
      const RequestSlot slot{kind, static_cast<int64_t>(i)};
      out_.first_failure = evaluators::Asker(plan_, tasks_, slot) + ": " + failures[i];
    }
  }

  bool Admit(size_t index, int64_t dropped) {
    truncated_[index] = dropped > 0;
    if (dropped > 0 && options_.truncation == "error") {
      throw DataError("it is {} tokens longer than the model's {}", dropped, max_length_);
    }
    skipped_[index] = dropped > 0 && options_.truncation == "skip";
    return skipped_[index] == 0;
  }

  const std::vector<evaluators::SelectedTask>& tasks_;
  const RequestPlan& plan_;
  const ModelOptions& options_;
  std::shared_ptr<const model_adapters::Tokenizer> tokenizer_;
  model_adapters::BosPolicy bos_;
  int64_t max_length_;
  std::vector<char> truncated_, skipped_;  ///< of the kind at hand
  Encoded out_;
};

struct Work {
  int64_t sequences = 0, longest = 0, asked = 0, computed = 0, generated = 0, passes = 0;
};

void Count(const std::vector<TokenScoreRequest>& requests, const ScorePlan& plan, Work& work) {
  work.sequences += core::Size(requests);
  for (const TokenScoreRequest& request : requests) {
    work.asked += core::Size(request.ids) - 1;
    work.longest = std::max(work.longest, core::Size(request.ids) - 1);
  }
  work.passes += core::Size(plan.steps);
  for (const auto& step : plan.steps) {
    for (const auto& piece : step.pieces) work.computed += piece.end - piece.begin;
  }
}

void Count(const std::vector<TokenGenerateRequest>& requests, const GenerateLimits& limits,
           Work& work) {
  work.sequences += core::Size(requests);
  for (const auto& group : model_adapters::GenerateGroups(requests, limits)) {
    const auto& first = requests[group.front()].prompt;
    int64_t shared = limits.share_prefixes && group.size() > 1 ? core::Size(first) : 0;
    int64_t steps = 0, tokens = 0;
    for (const size_t r : group) {
      const int64_t length = core::Size(requests[r].prompt);
      work.longest = std::max(work.longest, length + requests[r].max_new_tokens);
      work.generated += requests[r].max_new_tokens;
      steps = std::max(steps, requests[r].max_new_tokens);
      tokens += length;
      shared =
          std::min({shared, model_adapters::CommonPrefix(first, requests[r].prompt), length - 1});
    }
    if (shared < model_adapters::kMinSharedTokens) shared = 0;
    const int64_t computed = tokens - shared * (core::Size(group) - 1);
    work.asked += tokens;
    work.computed += computed;
    work.passes += (computed + limits.batch_tokens - 1) / limits.batch_tokens + steps;
  }
}

std::string MiB(int64_t bytes) {
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20));
}

void PrintWork(const Encoded& encoded, const ModelOptions& options, std::ostream& out) {
  const model_adapters::ModelSpec spec = model_adapters::LoadModelSpec(options.model);
  model_adapters::OpenOptions open = ToOpenOptions(options);
  Work work, packed;
  ExpectedMemory memory = MemoryOfModel(spec, options.dtype);
  for (const auto& requests : encoded.scores) {
    const ScorePlan plan = model_adapters::MakeScorePlan(requests, LimitsFor(spec, open));
    Count(requests, plan, work);
    AddScoring(spec, plan, memory);
    AddRequests(requests, memory);
  }
  for (const auto& requests : encoded.generate) {
    Count(requests, GenerateLimitsFor(spec, open), work);
    AddGeneration(spec, requests, GenerateLimitsFor(spec, open), memory);
  }
  out << fmt::format(
      "\nsequences            {}\nlongest (tokens)     {}\ntokens asked for     {}\n"
      "tokens to compute    {} ({:.1f} %)\n",
      work.sequences, work.longest, work.asked, work.computed,
      work.asked == 0
          ? 0.0
          : 100.0 * static_cast<double>(work.computed) / static_cast<double>(work.asked));
  if (work.generated > 0) out << fmt::format("new tokens, at most  {}\n", work.generated);
  out << fmt::format("batches{}          {}\n", work.generated > 0 ? ", <= " : "     ",
                     work.passes);
  out << fmt::format(
      "expected memory      {} (weights {}, states {}, work space {}, requests {}, program {})\n",
      MiB(memory.total()), MiB(memory.weights), MiB(memory.states), MiB(memory.work_space),
      MiB(memory.requests), MiB(memory.program));
  if (!options.deterministic) return;
  open.deterministic = false;
  for (const auto& requests : encoded.scores) {
    Count(requests, model_adapters::MakeScorePlan(requests, LimitsFor(spec, open)), packed);
  }
  for (const auto& requests : encoded.generate) {
    Count(requests, GenerateLimitsFor(spec, open), packed);
  }
  out << fmt::format(
      "--deterministic      {} batches instead of {}, {} tokens to compute instead of {}\n",
      work.passes, packed.passes, work.computed, packed.computed);
}

}  // namespace

void PrintPlan(const std::vector<evaluators::SelectedTask>& tasks, const RequestPlan& plan,
               const ModelOptions& model, std::ostream& out) {
  std::vector<std::vector<std::string>> rows;
  for (size_t t = 0; t < tasks.size(); ++t) {
    std::array<int64_t, evaluators::kRequestKinds> counts{};
    for (size_t kind = 0; kind < counts.size(); ++kind) {
      counts[kind] =
          std::count(plan.owner[kind].begin(), plan.owner[kind].end(), static_cast<int32_t>(t));
    }
    rows.push_back({tasks[t].name, fmt::format("{}", tasks[t].documents.size()),
                    fmt::format("{}", counts[0]), fmt::format("{}", counts[1]),
                    fmt::format("{}", counts[2])});
  }
  out << reports::MarkdownTable(
      {"Task", "Documents", "loglikelihood", "loglikelihood_rolling", "generate_until"}, rows);
  if (!IsNative(model.model)) return;
  const int64_t max_length = model.max_length.value_or(
      model_adapters::LoadModelSpec(model.model).max_positions.value_or(0));
  const Encoded encoded = Encoder(tasks, plan, model, max_length).Encode();
  PrintWork(encoded, model, out);
  if (encoded.truncated > 0) out << fmt::format("too long             {}\n", encoded.truncated);
  if (encoded.skipped > 0) out << fmt::format("skipped              {}\n", encoded.skipped);
  if (encoded.failed == 0) return;
  out << std::flush;
  throw DataError("{} of {} requests can't be asked; the first: {}", encoded.failed, plan.size(),
                  encoded.first_failure);
}

}  // namespace natsl::cli
