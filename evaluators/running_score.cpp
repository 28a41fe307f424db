#include "evaluators/running_score.h"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "core/cast.h"
#include "core/error.h"

namespace natsl::evaluators {
namespace {

bool HasAnswer(const tasks::Response& response) {
  return std::visit([](const auto& result) { return !result.error && !result.skipped; }, response);
}

/// The aggregate of what is there; nothing where it isn't a plain mean or ratio.
std::optional<double> Value(const tasks::MetricCard& metric, double sum, double weight,
                            int64_t scored) {
  const auto n = static_cast<double>(scored);
  switch (metric.aggregation) {
    case tasks::Aggregation::kMean:
    case tasks::Aggregation::kMeanWithoutError:
      return metric.scale * sum / n;
    case tasks::Aggregation::kWeightedMean:
      return metric.scale * sum / weight;
    case tasks::Aggregation::kPerplexity:
      return std::exp(-sum / n);
    case tasks::Aggregation::kWeightedPerplexity:
      return std::exp(-sum / weight);
    case tasks::Aggregation::kBitsPerByte:
      return -sum / (weight * std::numbers::ln2);
    case tasks::Aggregation::kBestOverThresholds:
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

RunningScore::RunningScore(const std::vector<SelectedTask>& tasks, const RequestPlan& plan)
    : tasks_(tasks), plan_(plan), open_(tasks.size()), standings_(tasks.size()) {
  for (size_t kind = 0; kind < document_of_.size(); ++kind) {
    document_of_[kind].resize(plan.owner[kind].size());
  }
  for (size_t t = 0; t < plan.slots.size(); ++t) {
    for (size_t d = 0; d < plan.slots[t].size(); ++d) {
      for (const RequestSlot& slot : plan.slots[t][d]) {
        document_of_[static_cast<size_t>(slot.kind)][static_cast<size_t>(slot.index)] =
            static_cast<int32_t>(d);
      }
      open_[t].push_back(static_cast<int32_t>(plan.slots[t][d].size()));
    }
  }
}

void RunningScore::OnAnswer(RequestSlot slot, const Answers& answers) {
  const auto kind = static_cast<size_t>(slot.kind);
  const auto index = static_cast<size_t>(slot.index);
  const auto t = static_cast<size_t>(plan_.owner[kind][index]);
  const auto d = static_cast<size_t>(document_of_[kind][index]);
  if (--open_[t][d] > 0) return;
  last_ = t;
  Standing& standing = standings_[t];
  ++standing.finished;
  std::vector<tasks::Response> responses;
  for (const RequestSlot& own : plan_.slots[t][d]) {
    responses.push_back(answers.At(own));
    if (!HasAnswer(responses.back())) return;
  }
  const tasks::TaskCard& card = tasks_[t].task->Card();
  if (card.metrics.empty()) return;
  const tasks::MetricCard& metric = card.metrics.front();
  const tasks::SampleScore score = tasks_[t].task->Score(tasks_[t].documents[d], responses);
  for (const tasks::SampleMetric& own : score.metrics) {
    if (own.name != metric.name || own.filter != metric.filter || own.values.empty()) continue;
    ++standing.scored;
    standing.sum += own.values[0];
    standing.weight += own.values.size() > 1 ? own.values[1] : 0;
    return;
  }
}

std::string RunningScore::Text() const {
  if (standings_.empty() || standings_[last_].finished == 0) return "";
  const Standing& standing = standings_[last_];
  std::string text = fmt::format("{} {}/{} documents", tasks_[last_].name, standing.finished,
                                 tasks_[last_].documents.size());
  if (standing.scored == 0) return text;
  const tasks::MetricCard& metric = tasks_[last_].task->Card().metrics.front();
  const std::optional<double> value = Value(metric, standing.sum, standing.weight, standing.scored);
  if (value) text += fmt::format(", {} {:.4f}", metric.name, *value);
  return text;
}

}  // namespace natsl::evaluators
