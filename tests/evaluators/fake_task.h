// A task with documents made up in memory, for tests of the evaluator.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <vector>

#include "tasks/task.h"

namespace natsl::evaluators {

/// Document i asks for the log-likelihood of two endings; gold is ending 0.
class FakeTask final : public tasks::Task {
 public:
  explicit FakeTask(int64_t documents) : documents_(documents) {
    card_.name = "fake";
    card_.version = "1.0";
    card_.output_type = "multiple_choice";
    tasks::MetricCard acc;
    acc.name = "acc";
    card_.metrics = {acc};
  }
  const tasks::TaskCard& Card() const override { return card_; }
  int64_t DocumentCount() const override { return documents_; }
  tasks::DocumentRequests Requests(int64_t index) const override {
    tasks::DocumentRequests document;
    document.doc_id = index;
    document.id = fmt::format("d{}", index);
    document.doc = fmt::format("{{\"question\": \"q{}\"}}", index);
    document.target = "0";
    for (const char* ending : {" yes", " no"}) {
      document.requests.push_back(tasks::LoglikelihoodRequest{fmt::format("q{}", index), ending});
    }
    return document;
  }
  tasks::SampleScore Score(int64_t, std::span<const tasks::Response> responses) const override {
    const double first = std::get<tasks::LoglikelihoodResult>(responses[0]).log_prob;
    const double second = std::get<tasks::LoglikelihoodResult>(responses[1]).log_prob;
    tasks::SampleScore score;
    score.metrics = {{"acc", "none", {first >= second ? 1.0 : 0.0}}};
    return score;
  }
  std::string DataFingerprint() const override { return "fingerprint"; }

 private:
  int64_t documents_;
  tasks::TaskCard card_;
};

/// Answers in batches of three with log-probs that only depend on the request; counts its batches.
class FakeModel final : public model_adapters::LanguageModel {
 public:
  const model_adapters::ModelInfo& Info() const override { return info_; }
  void Loglikelihood(std::span<const model_adapters::LoglikelihoodRequest> requests,
                     std::span<model_adapters::LoglikelihoodResult> results,
                     model_adapters::BatchListener& listener) override {
    for (size_t begin = 0; begin < requests.size(); begin += 3) {
      if (listener.StopRequested()) return;
      std::vector<size_t> batch;
      bool wanted = false;
      for (size_t i = begin; i < std::min(requests.size(), begin + 3); ++i) {
        batch.push_back(i);
        wanted |= listener.Wanted(i);
      }
      if (!wanted) continue;
      for (const size_t i : batch) {
        // Even documents like " yes", odd ones " no".
        const bool even = (requests[i].context.back() - '0') % 2 == 0;
        results[i].log_prob = (requests[i].continuation == " yes") == even ? -1 : -2;
        results[i].context_tokens = 2;
        results[i].output_tokens = 1;
        if (requests[i].context == not_a_number) results[i].log_prob = std::nan("");
        if (requests[i].context == failing) results[i].error = "out of luck";
        if (requests[i].context == skipping) {
          results[i].skipped = true;
          results[i].truncated_tokens = 5;
        }
      }
      ++batches;
      listener.OnBatch(batch, 9);
    }
  }
  void LoglikelihoodRolling(std::span<const model_adapters::RollingRequest>,
                            std::span<model_adapters::RollingResult>,
                            model_adapters::BatchListener&) override {}
  void GenerateUntil(std::span<const model_adapters::GenerateRequest>,
                     std::span<model_adapters::GenerateResult>,
                     model_adapters::BatchListener&) override {}
  std::optional<int64_t> CountTokens(const std::string&) const override { return std::nullopt; }

  int batches = 0;
  std::string failing, skipping, not_a_number;

 private:
  model_adapters::ModelInfo info_;
};

}  // namespace natsl::evaluators
