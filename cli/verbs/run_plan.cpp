#include "cli/verbs/run_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/cast.h"
#include "core/threads.h"
#include "model_adapters/request_encoding.h"
#include "model_adapters/spec/checkpoint.h"
#include "reports/console_table.h"

namespace natsl::cli {
namespace {

using evaluators::RequestPlan;
using model_adapters::TokenId;

/// Ids that one prefix tree over all sequences holds: what sharing leaves to compute. Sorts them.
int64_t UniqueTokens(std::vector<std::vector<TokenId>>& sequences) {
  std::sort(sequences.begin(), sequences.end());
  int64_t unique = 0;
  for (size_t i = 0; i < sequences.size(); ++i) {
    size_t shared = 0;
    if (i > 0) {
      const auto [a, b] = std::mismatch(sequences[i - 1].begin(), sequences[i - 1].end(),
                                        sequences[i].begin(), sequences[i].end());
      shared = static_cast<size_t>(b - sequences[i].begin());
    }
    unique += static_cast<int64_t>(sequences[i].size() - shared);
  }
  return unique;
}

std::vector<std::vector<TokenId>> Encode(const RequestPlan& plan, const ModelOptions& options) {
  const auto tokenizer = OpenModelTokenizer(options);
  const auto bos = ToBosPolicy(options.bos);
  const int64_t max_length = options.max_length.value_or(
      model_adapters::LoadModelSpec(options.model)
          .max_positions.value_or(tokenizer->model_max_length().value_or(2048)));
  std::vector<std::vector<TokenId>> sequences(plan.loglikelihood.size() + plan.generate.size());
  core::ParallelFor(core::Size(sequences), options.threads, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto at = static_cast<size_t>(i);
      if (at < plan.loglikelihood.size()) {
        const auto& request = plan.loglikelihood[at];
        auto pair = model_adapters::EncodePair(*tokenizer, request.context, request.continuation,
                                               bos, max_length);
        sequences[at] = std::move(pair.context);
        sequences[at].insert(sequences[at].end(), pair.continuation.begin(),
                             pair.continuation.end() - 1);
      } else {
        const auto& request = plan.generate[at - plan.loglikelihood.size()];
        sequences[at] =
            model_adapters::EncodePrompt(*tokenizer, request.prompt, bos, max_length,
                                         request.max_new_tokens, request.middle_truncate_to)
                .ids;
      }
    }
  });
  for (const auto& request : plan.rolling) {
    const auto ids = model_adapters::EncodeText(*tokenizer, request.text, bos);
    const auto windows = model_adapters::RollingWindows(
        ids, model_adapters::PrefixToken(*tokenizer),
        std::min(max_length, request.max_length.value_or(max_length)));
    for (const auto& window : windows) {
      sequences.emplace_back(window.ids.begin(), window.ids.end() - 1);
    }
  }
  return sequences;
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
  std::vector<std::vector<TokenId>> sequences = Encode(plan, model);
  int64_t asked = 0, longest = 0;
  for (const auto& sequence : sequences) {
    asked += core::Size(sequence);
    longest = std::max(longest, core::Size(sequence));
  }
  const int64_t unique = model.no_prefix_sharing ? asked : UniqueTokens(sequences);
  out << fmt::format(
      "\nsequences            {}\nlongest (tokens)     {}\ntokens asked for     {}\n"
      "tokens to compute    {} ({:.1f} %)\nbatches, at least    {}\n",
      sequences.size(), longest, asked, unique,
      asked == 0 ? 0.0 : 100.0 * static_cast<double>(unique) / static_cast<double>(asked),
      (unique + model.batch_tokens - 1) / model.batch_tokens);
}

}  // namespace natsl::cli
