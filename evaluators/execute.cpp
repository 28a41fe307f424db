#include "evaluators/execute.h"

#include <cmath>
#include <span>
#include <type_traits>
#include <utility>

#include "core/cast.h"
#include "core/error.h"
#include "evaluators/response_codec.h"
#include "evaluators/running_score.h"
#include "model_adapters/request_error.h"

namespace natsl::evaluators {
namespace {

using model_adapters::BatchListener;
using model_adapters::LanguageModel;

int64_t Weight(const tasks::LoglikelihoodRequest& request) {
  return core::Size(request.context) + core::Size(request.continuation) + 1;
}
int64_t Weight(const tasks::RollingRequest& request) {
  int64_t weight = core::Size(request.text) + 1;
  for (const std::string& text : request.packed) weight += core::Size(text);
  return weight;
}
int64_t Weight(const tasks::GenerateRequest& request) {
  // A generated token costs a step of its own: far more than a token that is read.
  return core::Size(request.prompt) + 16 * request.max_new_tokens + 1;
}

void Call(LanguageModel& model, std::span<const tasks::LoglikelihoodRequest> requests,
          std::span<tasks::LoglikelihoodResult> results, BatchListener& listener) {
  model.Loglikelihood(requests, results, listener);
}
void Call(LanguageModel& model, std::span<const tasks::RollingRequest> requests,
          std::span<tasks::RollingResult> results, BatchListener& listener) {
  model.LoglikelihoodRolling(requests, results, listener);
}
void Call(LanguageModel& model, std::span<const tasks::GenerateRequest> requests,
          std::span<tasks::GenerateResult> results, BatchListener& listener) {
  model.GenerateUntil(requests, results, listener);
}

/// A log-probability that is no number would still decide between choices: such an answer is none.
template <typename Result>
Result Checked(Result result) {
  if constexpr (!std::is_same_v<Result, tasks::GenerateResult>) {
    if (!result.error && std::isnan(result.log_prob)) {
      result.error =
          "the model's log-probability is not a number: its weights hold values that are none, or "
          "are too large to compute with";
    }
  }
  return result;
}

/// Takes over each batch's answers and makes them durable. Answers that were known already stay as
/// they are, even where the batch that holds them had to be computed for another request.
template <typename Request, typename Result>
class Collector final : public BatchListener {
 public:
  Collector(RequestKind kind, std::span<const Request> requests, std::span<Result> computed,
            std::span<Result> answers, std::vector<Origin>& origin, Answers& totals,
            const ExecuteOptions& options)
      : kind_(kind),
        requests_(requests),
        computed_(computed),
        answers_(answers),
        origin_(origin),
        totals_(totals),
        options_(options) {}

  bool Wanted(size_t index) override { return origin_[index] == Origin::kNone; }

  void OnBatch(std::span<const size_t> finished, int64_t tokens) override {
    std::vector<std::pair<int64_t, std::string>> journal;
    std::vector<std::pair<std::string, std::string>> cache;
    int64_t weight = 0;
    for (const size_t index : finished) {
      if (origin_[index] != Origin::kNone) continue;
      answers_[index] = Checked(std::move(computed_[index]));
      origin_[index] = Origin::kComputed;
      weight += Weight(requests_[index]);
      std::string bytes = Encode(answers_[index]);
      if (options_.cache != nullptr && !answers_[index].error) {
        cache.emplace_back(options_.cache->Key(requests_[index]), bytes);
      }
      journal.emplace_back(static_cast<int64_t>(index), std::move(bytes));
      if (options_.running != nullptr) {
        options_.running->OnAnswer({kind_, static_cast<int64_t>(index)}, totals_);
      }
    }
    if (options_.journal != nullptr && !journal.empty()) options_.journal->Append(kind_, journal);
    if (!cache.empty()) options_.cache->Append(cache);
    ++totals_.batches;
    totals_.computed_tokens += tokens;
    if (options_.progress != nullptr) {
      if (options_.running != nullptr) options_.progress->SetStatus(options_.running->Text());
      options_.progress->Advance(core::Size(journal), weight, tokens);
    }
  }

  bool StopRequested() override { return options_.stop_requested(); }

 private:
  RequestKind kind_;
  std::span<const Request> requests_;
  std::span<Result> computed_, answers_;
  std::vector<Origin>& origin_;
  Answers& totals_;
  const ExecuteOptions& options_;
};

template <typename Result>
void ReadJournal(RequestKind kind, Journal& journal, std::vector<Result>& answers,
                 std::vector<Origin>& origin) {
  journal.ForEach(kind, [&](int64_t index, std::string_view bytes) {
    if (index < 0 || index >= core::Size(answers)) {
      throw DataError("{}: holds an answer to {} request {}, of {} in this run", Journal::kFileName,
                      Name(kind), index, answers.size());
    }
    Result answer;
    Decode(bytes, answer);
    answers[static_cast<size_t>(index)] = Checked(std::move(answer));
    origin[static_cast<size_t>(index)] = Origin::kJournal;
  });
}

template <typename Request, typename Result>
void ReadCache(RequestKind kind, const std::vector<Request>& requests,
               const ExecuteOptions& options, std::vector<Result>& answers,
               std::vector<Origin>& origin) {
  std::vector<std::pair<int64_t, std::string>> journal;
  for (size_t i = 0; i < requests.size(); ++i) {
    if (origin[i] != Origin::kNone) continue;
    std::optional<std::string> bytes = options.cache->Find(options.cache->Key(requests[i]));
    if (!bytes) continue;
    Result answer;
    Decode(*bytes, answer);
    answers[i] = Checked(std::move(answer));
    answers[i].cached = true;
    origin[i] = Origin::kCache;
    journal.emplace_back(static_cast<int64_t>(i), std::move(*bytes));
  }
  if (options.journal != nullptr && !journal.empty()) options.journal->Append(kind, journal);
}

/// False: stopped on request.
template <typename Request, typename Result>
bool ExecuteKind(RequestKind kind, const std::vector<Request>& requests, LanguageModel& model,
                 const ExecuteOptions& options, std::vector<Result>& answers, Answers& totals) {
  std::vector<Origin>& origin = totals.origin[static_cast<size_t>(kind)];
  answers.resize(requests.size());
  origin.assign(requests.size(), Origin::kNone);
  if (options.journal != nullptr) ReadJournal(kind, *options.journal, answers, origin);
  if (options.cache != nullptr) ReadCache(kind, requests, options, answers, origin);
  int64_t wanted = 0, weight = 0;
  for (size_t i = 0; i < requests.size(); ++i) {
    if (origin[i] == Origin::kNone) {
      ++wanted;
      weight += Weight(requests[i]);
    } else if (options.running != nullptr) {
      options.running->OnAnswer({kind, static_cast<int64_t>(i)}, totals);
    }
  }
  if (wanted == 0) return true;
  if (options.stop_requested()) return false;
  if (options.progress != nullptr) options.progress->Begin(Name(kind), wanted, weight);
  std::vector<Result> computed(requests.size());
  Collector<Request, Result> collector(kind, requests, computed, answers, origin, totals, options);
  try {
    Call(model, requests, computed, collector);
  } catch (const model_adapters::RequestError& error) {
    if (!options.asker) throw;
    throw error.WithContext(options.asker({kind, static_cast<int64_t>(error.request())}));
  }
  if (options.progress != nullptr) options.progress->End();
  for (size_t i = 0; i < requests.size(); ++i) {
    if (origin[i] != Origin::kNone) continue;
    if (options.stop_requested()) return false;
    throw InternalError("the model left {} request {} without an answer", Name(kind), i);
  }
  return true;
}

}  // namespace

tasks::Response Answers::At(RequestSlot slot) const {
  const auto index = static_cast<size_t>(slot.index);
  switch (slot.kind) {
    case RequestKind::kLoglikelihood:
      return loglikelihood[index];
    case RequestKind::kRolling:
      return rolling[index];
    case RequestKind::kGenerate:
      return generate[index];
  }
  throw InternalError("unknown request kind");
}

Answers Execute(const RequestPlan& plan, LanguageModel& model, const ExecuteOptions& options) {
  Answers answers;
  answers.complete =
      ExecuteKind(RequestKind::kLoglikelihood, plan.loglikelihood, model, options,
                  answers.loglikelihood, answers) &&
      ExecuteKind(RequestKind::kRolling, plan.rolling, model, options, answers.rolling, answers) &&
      ExecuteKind(RequestKind::kGenerate, plan.generate, model, options, answers.generate, answers);
  return answers;
}

Answers ReadAnswers(const RequestPlan& plan, Journal& journal) {
  Answers answers;
  answers.loglikelihood.resize(plan.loglikelihood.size());
  answers.rolling.resize(plan.rolling.size());
  answers.generate.resize(plan.generate.size());
  answers.origin[0].assign(plan.loglikelihood.size(), Origin::kNone);
  answers.origin[1].assign(plan.rolling.size(), Origin::kNone);
  answers.origin[2].assign(plan.generate.size(), Origin::kNone);
  ReadJournal(RequestKind::kLoglikelihood, journal, answers.loglikelihood, answers.origin[0]);
  ReadJournal(RequestKind::kRolling, journal, answers.rolling, answers.origin[1]);
  ReadJournal(RequestKind::kGenerate, journal, answers.generate, answers.origin[2]);
  answers.complete = true;
  for (const std::vector<Origin>& kind : answers.origin) {
    for (const Origin origin : kind) answers.complete &= origin != Origin::kNone;
  }
  return answers;
}

}  // namespace natsl::evaluators
