// `checked:A,B`: two models on the same requests.
#include "model_adapters/checked_model.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.h"

namespace natsl::model_adapters {
namespace {

/// Remembers which requests A was asked for, so that B runs the same ones. A's results are handed
/// out as copies: who is told of them may move them away.
template <typename Result>
class Remember final : public BatchListener {
 public:
  Remember(std::span<const Result> computed, std::span<Result> results, BatchListener& outer)
      : answered(results.size(), 0), computed_(computed), results_(results), outer_(outer) {}
  bool Wanted(size_t index) override { return outer_.Wanted(index); }
  void OnBatch(std::span<const size_t> finished, int64_t tokens) override {
    for (const size_t i : finished) {
      answered[i] = 1;
      results_[i] = computed_[i];
    }
    outer_.OnBatch(finished, tokens);
  }
  bool StopRequested() override { return outer_.StopRequested(); }

  std::vector<char> answered;

 private:
  std::span<const Result> computed_;
  std::span<Result> results_;
  BatchListener& outer_;
};

class OnlyThese final : public BatchListener {
 public:
  OnlyThese(const std::vector<char>& wanted, BatchListener& outer)
      : wanted_(wanted), outer_(outer) {}
  bool Wanted(size_t index) override { return wanted_[index] != 0; }
  bool StopRequested() override { return outer_.StopRequested(); }

 private:
  const std::vector<char>& wanted_;
  BatchListener& outer_;
};

void CompareTokens(const std::vector<float>& a, const std::vector<float>& b,
                   const std::string& request, Disagreement& out) {
  for (size_t t = 0; t < std::min(a.size(), b.size()); ++t) {
    double difference = std::fabs(static_cast<double>(a[t]) - static_cast<double>(b[t]));
    if (std::isnan(difference)) {
      // Equal infinities agree; a NaN, or a value against an infinity, is the worst there is.
      difference = a[t] == b[t] ? 0 : std::numeric_limits<double>::infinity();
    }
    ++out.tokens;
    out.sum += difference;
    const auto bin =
        std::upper_bound(Disagreement::kBins.begin(), Disagreement::kBins.end(), difference);
    ++out.histogram[static_cast<size_t>(bin - Disagreement::kBins.begin())];
    if (difference > out.largest || out.largest_at.empty()) {
      out.largest = difference;
      out.largest_at = fmt::format("{}, token {}", request, t);
    }
  }
}

/// Runs both models and calls compare(i) for the requests both answered.
template <typename Request, typename Result, typename Call, typename Compare>
void RunBoth(std::span<const Request> requests, std::span<Result> results, BatchListener& listener,
             Disagreement& out, const Call& call, const Compare& compare) {
  std::vector<Result> computed(requests.size());
  Remember<Result> remember(computed, results, listener);
  call(true, std::span<Result>(computed), remember);
  std::vector<Result> others(requests.size());
  OnlyThese only(remember.answered, listener);
  call(false, std::span<Result>(others), only);
  for (size_t i = 0; i < requests.size(); ++i) {
    if (!remember.answered[i] || computed[i].skipped || others[i].skipped) continue;
    ++out.requests;
    if (computed[i].error.has_value() != others[i].error.has_value()) ++out.errors;
    if (!computed[i].error && !others[i].error) compare(computed[i], others[i], i);
  }
}

}  // namespace

std::string Describe(const Disagreement& d) {
  std::string text = fmt::format(
      "{} requests compared, {} token log-probs: largest difference {:.3g}{}, mean {:.3g}\n",
      d.requests, d.tokens, d.largest, d.largest_at.empty() ? "" : " (" + d.largest_at + ")",
      d.mean());
  text += "differences:";
  for (size_t i = 0; i < d.histogram.size(); ++i) {
    text += i < Disagreement::kBins.size()
                ? fmt::format(" <{:g}: {}", Disagreement::kBins[i], d.histogram[i])
                : fmt::format(" more: {}\n", d.histogram[i]);
    if (i < Disagreement::kBins.size()) text += ',';
  }
  text += fmt::format("greedy flags that differ: {} of {}\n", d.greedy_flips, d.requests);
  text += fmt::format("generations that differ: {} of {}{}\n", d.generation_flips, d.generations,
                      d.first_flip_at.empty() ? "" : " (first: " + d.first_flip_at + ")");
  if (d.errors > 0) text += fmt::format("requests only one could answer: {}\n", d.errors);
  return text;
}

CheckedModel::CheckedModel(std::unique_ptr<LanguageModel> answers,
                           std::unique_ptr<LanguageModel> check)
    : answers_(std::move(answers)), check_(std::move(check)) {
  const ModelInfo& a = answers_->Info();
  const ModelInfo& b = check_->Info();
  if (a.vocabulary != 0 && b.vocabulary != 0 && a.vocabulary != b.vocabulary) {
    throw ModelError("checked: {} has a vocabulary of {}, {} of {}; expected equal ones", a.name,
                     a.vocabulary, b.name, b.vocabulary);
  }
  if (!a.tokenizer_fingerprint.empty() && !b.tokenizer_fingerprint.empty() &&
      a.tokenizer_fingerprint != b.tokenizer_fingerprint) {
    throw ModelError("checked: {} and {} have different tokenizers; expected the same", a.name,
                     b.name);
  }
  info_ = a;
  info_.name = fmt::format("checked:{},{}", a.name, b.name);
  info_.weights_fingerprint = a.weights_fingerprint + "+" + b.weights_fingerprint;
  info_.settings.emplace_back("checked_against",
                              fmt::format("{} ({}, {})", b.name, b.dtype, b.device));
}

std::optional<int64_t> CheckedModel::CountTokens(const std::string& text) const {
  return answers_->CountTokens(text);
}

std::vector<std::string> CheckedModel::Notes() const {
  std::vector<std::string> notes = answers_->Notes();
  const std::vector<std::string> more = check_->Notes();
  notes.insert(notes.end(), more.begin(), more.end());
  return notes;
}

void CheckedModel::Loglikelihood(std::span<const LoglikelihoodRequest> requests,
                                 std::span<LoglikelihoodResult> results, BatchListener& listener) {
  RunBoth(
      requests, results, listener, disagreement_,
      [&](bool first, std::span<LoglikelihoodResult> out, BatchListener& watch) {
        (first ? answers_ : check_)->Loglikelihood(requests, out, watch);
      },
      [&](const LoglikelihoodResult& a, const LoglikelihoodResult& b, size_t i) {
        CompareTokens(a.token_log_probs, b.token_log_probs,
                      fmt::format("loglikelihood request {}", i), disagreement_);
        disagreement_.greedy_flips += a.is_greedy != b.is_greedy;
      });
}

void CheckedModel::LoglikelihoodRolling(std::span<const RollingRequest> requests,
                                        std::span<RollingResult> results, BatchListener& listener) {
  RunBoth(
      requests, results, listener, disagreement_,
      [&](bool first, std::span<RollingResult> out, BatchListener& watch) {
        (first ? answers_ : check_)->LoglikelihoodRolling(requests, out, watch);
      },
      [&](const RollingResult& a, const RollingResult& b, size_t i) {
        CompareTokens(a.token_log_probs, b.token_log_probs,
                      fmt::format("loglikelihood_rolling request {}", i), disagreement_);
      });
}

void CheckedModel::GenerateUntil(std::span<const GenerateRequest> requests,
                                 std::span<GenerateResult> results, BatchListener& listener) {
  RunBoth(
      requests, results, listener, disagreement_,
      [&](bool first, std::span<GenerateResult> out, BatchListener& watch) {
        (first ? answers_ : check_)->GenerateUntil(requests, out, watch);
      },
      [&](const GenerateResult& a, const GenerateResult& b, size_t i) {
        ++disagreement_.generations;
        // A model that runs elsewhere may tell only its text.
        if ((a.ids.empty() || b.ids.empty()) && a.text == b.text) return;
        const auto [at, other] =
            std::mismatch(a.ids.begin(), a.ids.end(), b.ids.begin(), b.ids.end());
        if (at == a.ids.end() && other == b.ids.end()) return;
        ++disagreement_.generation_flips;
        if (disagreement_.first_flip_at.empty()) {
          disagreement_.first_flip_at =
              fmt::format("generate_until request {}, token {}", i, at - a.ids.begin());
        }
      });
}

}  // namespace natsl::model_adapters
