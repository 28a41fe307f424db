// What the values of runs have in common, drawn out for plots and tables: tasks and metrics in
// order, lengths in task names, positions in metric names. Pure functions of the records.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reports/read_record.h"

namespace natsl::reports {

/// "ruler_vt@32k" is base "ruler_vt" at length 32768; other names have no length.
struct NameAndLength {
  std::string base;
  std::optional<int64_t> length;
};
NameAndLength SplitLength(const std::string& task);

/// The metric that a task is told by: the first where higher is better, else the first; null
/// without any.
const MetricRecord* PrimaryMetric(const TaskRecord& task);
/// Whether a metric is one point of a curve (a block of positions, a bucket of lengths): curves are
/// drawn, not listed among the results.
bool IsCurvePoint(const std::string& metric);

const TaskRecord* FindTask(const RunRecord& record, const std::string& name);
const MetricRecord* FindMetric(const TaskRecord& task, const std::string& name,
                               const std::string& filter);

/// Names of all tasks of the runs, in order of first appearance.
std::vector<std::string> TaskNames(const std::vector<ReportedRun>& runs);
/// {name, filter} of a task's metrics over all runs, in order of first appearance.
std::vector<std::pair<std::string, std::string>> MetricNames(const std::vector<ReportedRun>& runs,
                                                             const std::string& task);

/// Mean negative log-likelihood of a block of positions.
struct PositionLoss {
  int64_t begin = 0, end = 0;
  double loss = 0;  ///< nats a token
  std::optional<double> error;
};
/// Of tokens in [begin, end), from metrics "perplexity_BEGIN-END"; by end.
std::vector<PositionLoss> LossByPosition(const TaskRecord& task);
/// Of all tokens up to `end`, from metrics "perplexity_to_END".
std::vector<PositionLoss> CumulativeLoss(const TaskRecord& task);

/// LongBench-E's buckets of length, from metrics "score_BUCKET".
inline const std::vector<std::string> kLengthBuckets = {"0-4k", "4-8k", "8k+"};
bool HasBuckets(const TaskRecord& task);

/// What a reader must know before the numbers, most serious first: "piqa: ...".
std::vector<std::string> Warnings(const RunRecord& record);
/// "SUBSET piqa: first 20 of 200; arc_easy: first 20 of 2376 documents", or "".
std::string Subsets(const RunRecord& record);

/// Half of the 95 % interval of a normal.
inline constexpr double kNormal95 = 1.959963984540054;

}  // namespace natsl::reports
