#include "reports/compare_runs.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/cast.h"
#include "core/error.h"
#include "core/statistics/descriptive.h"
#include "core/statistics/paired_tests.h"
#include "core/statistics/resampling.h"
#include "reports/console_table.h"

namespace natsl::reports {
namespace {

namespace statistics = core::statistics;

template <typename Item>
const Item* Find(const std::vector<Item>& items, std::string Item::*name,
                 const std::string& wanted) {
  for (const Item& item : items) {
    if (item.*name == wanted) return &item;
  }
  return nullptr;
}

/// Why two tasks can't be compared; "" where they can.
std::string Incomparable(const StoredTask& base, const StoredTask& changed) {
  for (const auto& [key, value] : base.identity) {
    const std::string& other = changed.identity.at(key);
    if (value != other) return fmt::format("{} differs: {} and {}", key, value, other);
  }
  return "";
}

bool IsLogProb(const std::string& aggregation) {
  return aggregation == "perplexity" || aggregation == "weighted_perplexity" ||
         aggregation == "bits_per_byte";
}

/// Per-document differences whose mean is the effect.
struct PairedDifferences {
  std::vector<double> values;
  bool binary = true;
  std::vector<std::string> lost, won;
};

PairedDifferences Pair(const StoredMetric& base, const StoredMetric& changed) {
  PairedDifferences out;
  const bool log_prob = IsLogProb(base.aggregation);
  const double sign = log_prob || base.higher_is_better ? 1 : -1;
  double count = 0;
  for (const auto& [id, values] : base.samples) {
    const std::vector<double>& others = changed.samples.at(id);
    out.values.push_back(sign * (others[0] - values[0]));
    if (values.size() == 2) count += values[1];
    out.binary &= !log_prob && values.size() == 1 && (values[0] == 0 || values[0] == 1) &&
                  (others[0] == 0 || others[0] == 1);
    if (out.values.back() < 0) out.lost.push_back(id);
    if (out.values.back() > 0) out.won.push_back(id);
  }
  // A ratio of sums with the same counts on both sides is a mean of scaled
  // differences.
  if (count > 0) {
    for (double& value : out.values) value *= static_cast<double>(out.values.size()) / count;
  }
  return out;
}

std::string PairingProblem(const StoredMetric& base, const StoredMetric& changed) {
  if (base.samples.empty() || changed.samples.empty()) {
    return "no rows to pair (run with --log-samples all)";
  }
  // Of some documents only, an effect would be that of those which happened to be kept.
  for (const auto& [name, metric] : {std::pair("BASE", &base), {"NEW", &changed}}) {
    if (core::Size(metric->samples) == metric->documents) continue;
    return fmt::format("{} has rows of {} of {} documents (run with --log-samples all)", name,
                       metric->samples.size(), metric->documents);
  }
  for (const auto& [id, values] : base.samples) {
    const auto found = changed.samples.find(id);
    if (found == changed.samples.end()) return fmt::format("document {} is only in BASE", id);
    if (found->second.size() != values.size()) {
      return fmt::format("document {} has {} and {} values", id, values.size(),
                         found->second.size());
    }
  }
  if (base.samples.size() != changed.samples.size()) return "NEW has documents that BASE lacks";
  return "";
}

Verdict Judge(const MetricComparison& row, double margin) {
  if (row.low > 0) return Verdict::kBetter;
  if (row.high < 0) return Verdict::kWorse;
  if (row.low >= -margin && row.high <= margin) return Verdict::kSame;
  return Verdict::kAmbiguous;
}

MetricComparison CompareMetric(const StoredMetric& base, const StoredMetric& changed,
                               const CompareOptions& options) {
  MetricComparison row;
  row.metric = base.key;
  row.base = base.value;
  row.changed = changed.value;
  row.reason =
      base.has_value && changed.has_value ? PairingProblem(base, changed) : "a run has no value";
  if (!row.reason.empty()) return row;
  PairedDifferences differences = Pair(base, changed);
  row.pairs = core::Size(differences.values);
  row.unit = base.aggregation == "perplexity" ? "nats a document"
             : IsLogProb(base.aggregation)    ? "nats a unit"
                                              : "points";
  const statistics::BootstrapInterval bootstrap = statistics::PercentileBootstrap(
      differences.values, 1 - options.confidence, options.replicates, options.seed);
  if (!bootstrap.interval.low.has_value() || !bootstrap.interval.high.has_value()) {
    row.reason = bootstrap.interval.low.because();
    return row;
  }
  row.effect = statistics::Mean(differences.values).value();
  row.low = bootstrap.interval.low.value();
  row.high = bootstrap.interval.high.value();
  row.test = "bootstrap";
  row.verdict = Judge(row, options.margin);
  if (!differences.binary) return row;
  row.test = "McNemar exact";
  row.lost = std::move(differences.lost);
  row.won = std::move(differences.won);
  const statistics::TestResult test =
      statistics::McNemarExact(core::Size(row.lost), core::Size(row.won));
  row.p_value = test.p_value.value();
  // For right-or-wrong metrics the exact test decides between better, worse and
  // undecided.
  const bool significant = row.p_value < 1 - options.confidence;
  if (significant) {
    row.verdict = row.effect > 0 ? Verdict::kBetter : Verdict::kWorse;
  } else if (row.verdict != Verdict::kSame) {
    row.verdict = row.low >= -options.margin && row.high <= options.margin ? Verdict::kSame
                                                                           : Verdict::kAmbiguous;
  }
  return row;
}

void AddMissing(std::vector<MetricComparison>& rows, const StoredTask& task,
                const std::string& reason) {
  for (const StoredMetric& metric : task.metrics) {
    MetricComparison row;
    row.task = task.name;
    row.metric = metric.key;
    row.reason = reason;
    rows.push_back(std::move(row));
  }
}

std::string Listed(const std::vector<std::string>& ids, size_t shown) {
  std::string text;
  for (size_t i = 0; i < ids.size() && i < shown; ++i) text += (i == 0 ? "" : ", ") + ids[i];
  if (ids.size() > shown) text += fmt::format(" and {} more", ids.size() - shown);
  return text;
}

}  // namespace

const char* Name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kBetter:
      return "BETTER";
    case Verdict::kSame:
      return "SAME";
    case Verdict::kWorse:
      return "WORSE";
    case Verdict::kAmbiguous:
      return "AMBIGUOUS";
    case Verdict::kMissing:
      return "MISSING";
  }
  return "?";
}

std::vector<MetricComparison> CompareRuns(const StoredRun& base, const StoredRun& changed,
                                          const CompareOptions& options) {
  std::vector<MetricComparison> rows;
  for (const StoredTask& task : base.tasks) {
    const StoredTask* other = Find(changed.tasks, &StoredTask::name, task.name);
    const std::string reason =
        other == nullptr ? "the task is only in BASE" : Incomparable(task, *other);
    if (!reason.empty()) {
      AddMissing(rows, task, reason);
      continue;
    }
    for (const StoredMetric& metric : task.metrics) {
      const StoredMetric* match = Find(other->metrics, &StoredMetric::key, metric.key);
      MetricComparison row;
      if (match == nullptr) {
        row.metric = metric.key;
        row.reason = "the metric is only in BASE";
      } else {
        row = CompareMetric(metric, *match, options);
      }
      row.task = task.name;
      rows.push_back(std::move(row));
    }
  }
  for (const StoredTask& task : changed.tasks) {
    if (Find(base.tasks, &StoredTask::name, task.name) == nullptr) {
      AddMissing(rows, task, "the task is only in NEW");
    }
  }
  return rows;
}

std::string ComparisonMarkdown(const StoredRun& base, const StoredRun& changed,
                               const std::vector<MetricComparison>& comparisons, size_t shown) {
  std::string out = fmt::format("BASE {} ({})\nNEW  {} ({})\n\n", base.folder, base.model,
                                changed.folder, changed.model);
  std::vector<std::vector<std::string>> rows;
  for (const MetricComparison& row : comparisons) {
    if (row.verdict == Verdict::kMissing) {
      rows.push_back({row.task, row.metric, "", "", "", row.reason, "", Name(row.verdict)});
      continue;
    }
    rows.push_back(
        {row.task, row.metric, fmt::format("{:.4f}", row.base), fmt::format("{:.4f}", row.changed),
         fmt::format("{:+.4f}", row.effect),
         fmt::format("[{:+.4f}, {:+.4f}] {}", row.low, row.high, row.unit),
         row.test == "bootstrap" ? row.test : fmt::format("{}: p = {:.4f}", row.test, row.p_value),
         Name(row.verdict)});
  }
  out += MarkdownTable({"Task", "Metric", "Base", "New", "Effect", "Interval", "Test", "Verdict"},
                       rows);
  for (const MetricComparison& row : comparisons) {
    if (row.lost.empty() && row.won.empty()) continue;
    out +=
        fmt::format("\n{} {}: {} lost ({}), {} won ({})\n", row.task, row.metric, row.lost.size(),
                    Listed(row.lost, shown), row.won.size(), Listed(row.won, shown));
  }
  return out;
}

}  // namespace natsl::reports
