#include "reports/runs_shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

namespace natsl::reports {
namespace {

/// The whole text as a count, with k = 1024.
std::optional<int64_t> Count(std::string_view text) {
  int64_t unit = 1;
  if (text.ends_with('k') || text.ends_with('K')) {
    unit = 1024;
    text.remove_suffix(1);
  }
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return {};
  return value * unit;
}

constexpr std::string_view kBlock = "perplexity_";
constexpr std::string_view kUpTo = "perplexity_to_";
constexpr std::string_view kBucket = "score_";

std::optional<std::pair<int64_t, int64_t>> BlockOf(std::string_view metric) {
  if (!metric.starts_with(kBlock)) return {};
  const std::string_view range = metric.substr(kBlock.size());
  const size_t dash = range.find('-');
  if (dash == std::string_view::npos) return {};
  const auto begin = Count(range.substr(0, dash)), end = Count(range.substr(dash + 1));
  if (!begin || !end) return {};
  return std::pair(*begin, *end);
}

std::optional<int64_t> UpTo(std::string_view metric) {
  if (!metric.starts_with(kUpTo)) return {};
  return Count(metric.substr(kUpTo.size()));
}

/// A perplexity as a loss; its error by the first-order rule.
std::optional<PositionLoss> ToLoss(const MetricRecord& metric, int64_t begin, int64_t end) {
  if (!metric.value.value || *metric.value.value <= 0) return {};
  PositionLoss point{begin, end, std::log(*metric.value.value), {}};
  if (metric.standard_error.value) {
    point.error = *metric.standard_error.value / *metric.value.value;
  }
  return point;
}

void SortByEnd(std::vector<PositionLoss>& points) {
  std::ranges::sort(points, {}, &PositionLoss::end);
}

}  // namespace

NameAndLength SplitLength(const std::string& task) {
  const size_t at = task.find('@');
  if (at == std::string::npos) return {task, {}};
  std::string_view rest = std::string_view(task).substr(at + 1);
  std::string others;
  std::optional<int64_t> length;
  while (!rest.empty()) {
    const size_t colon = std::min(rest.find(':'), rest.size());
    std::string_view part = rest.substr(0, colon);
    rest.remove_prefix(std::min(rest.size(), colon + 1));
    constexpr std::string_view kKey = "length=";
    const std::string_view value = part.starts_with(kKey) ? part.substr(kKey.size()) : part;
    if (const auto count = Count(value); count && !length) {
      length = count;
    } else {
      others += (others.empty() ? "@" : ":") + std::string(part);
    }
  }
  if (!length) return {task, {}};
  return {task.substr(0, at) + others, length};
}

const MetricRecord* PrimaryMetric(const TaskRecord& task) {
  for (const MetricRecord& metric : task.metrics) {
    if (metric.higher_is_better && !IsCurvePoint(metric.name)) return &metric;
  }
  return task.metrics.empty() ? nullptr : &task.metrics.front();
}

bool IsCurvePoint(const std::string& metric) {
  return BlockOf(metric) || UpTo(metric) ||
         (metric.starts_with(kBucket) &&
          std::ranges::find(kLengthBuckets, metric.substr(kBucket.size())) != kLengthBuckets.end());
}

const TaskRecord* FindTask(const RunRecord& record, const std::string& name) {
  const auto found = std::ranges::find(record.tasks, name, &TaskRecord::name);
  return found == record.tasks.end() ? nullptr : &*found;
}

const MetricRecord* FindMetric(const TaskRecord& task, const std::string& name,
                               const std::string& filter) {
  for (const MetricRecord& metric : task.metrics) {
    if (metric.name == name && metric.filter == filter) return &metric;
  }
  return nullptr;
}

std::vector<std::string> TaskNames(const std::vector<ReportedRun>& runs) {
  std::vector<std::string> names;
  for (const ReportedRun& run : runs) {
    for (const TaskRecord& task : run.record.tasks) {
      if (std::ranges::find(names, task.name) == names.end()) names.push_back(task.name);
    }
  }
  return names;
}

std::vector<std::pair<std::string, std::string>> MetricNames(const std::vector<ReportedRun>& runs,
                                                             const std::string& task) {
  std::vector<std::pair<std::string, std::string>> names;
  for (const ReportedRun& run : runs) {
    const TaskRecord* found = FindTask(run.record, task);
    if (found == nullptr) continue;
    for (const MetricRecord& metric : found->metrics) {
      const std::pair name(metric.name, metric.filter);
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

std::vector<PositionLoss> LossByPosition(const TaskRecord& task) {
  std::vector<PositionLoss> points;
  for (const MetricRecord& metric : task.metrics) {
    const auto block = BlockOf(metric.name);
    if (!block) continue;
    if (const auto point = ToLoss(metric, block->first, block->second)) points.push_back(*point);
  }
  SortByEnd(points);
  return points;
}

std::vector<PositionLoss> CumulativeLoss(const TaskRecord& task) {
  std::vector<PositionLoss> points;
  for (const MetricRecord& metric : task.metrics) {
    const auto end = UpTo(metric.name);
    if (!end) continue;
    if (const auto point = ToLoss(metric, 0, *end)) points.push_back(*point);
  }
  SortByEnd(points);
  return points;
}

bool HasBuckets(const TaskRecord& task) {
  return std::ranges::any_of(kLengthBuckets, [&](const std::string& bucket) {
    return FindMetric(task, "score_" + bucket, "none") != nullptr;
  });
}

std::vector<std::string> Warnings(const RunRecord& record) {
  std::vector<std::string> lines = record.warnings;
  for (const TaskRecord& task : record.tasks) {
    for (const std::string& warning : task.warnings) lines.push_back(task.name + ": " + warning);
    for (const MetricRecord& metric : task.metrics) {
      if (metric.value.value || IsCurvePoint(metric.name)) continue;
      lines.push_back(
          fmt::format("{}: {} has no value: {}", task.name, metric.name, metric.value.reason));
    }
  }
  return lines;
}

std::string Subsets(const RunRecord& record) {
  std::vector<std::string> tasks;
  for (const TaskRecord& task : record.tasks) {
    if (!task.subset.empty()) tasks.push_back(fmt::format("{}: {}", task.name, task.subset));
  }
  return tasks.empty() ? "" : fmt::format("SUBSET {} documents", fmt::join(tasks, "; "));
}

}  // namespace natsl::reports
