// Rows of a latency report that Markdown and HTML share.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "latency/record/measurement.h"
#include "reports/svg_axis.h"

namespace natsl::reports {

/// A cell: its text and, where it is one, its number.
struct LatencyCell {
  std::string text;
  std::optional<double> number;
};
struct LatencyTable {
  std::vector<std::string> header;
  std::vector<std::vector<LatencyCell>> rows;
};

LatencyTable TimesTable(const latency::LatencyRecord& record);
LatencyTable RooflineTable(const latency::LatencyRecord& record);
LatencyTable MemoryTable(const latency::LatencyRecord& record);
LatencyTable SpeedUpTable(const latency::LatencyRecord& record);  ///< no rows without baselines
LatencyTable GrowthTable(const latency::LatencyRecord& record);
LatencyTable CrossoverTable(const latency::LatencyRecord& record);
LatencyTable ShareTable(const latency::LatencyRecord& record);  ///< softmax share of a layer
LatencyTable GpuTable(const latency::LatencyRecord& record);

/// What is wrong with the run, most serious first.
std::vector<std::string> LatencyWarnings(const latency::LatencyRecord& record);
/// {"prefill", "..."} of every phase measured.
std::vector<std::pair<std::string, std::string>> PhaseDefinitions(
    const latency::LatencyRecord& record);
/// How it was sampled, in sentences.
std::vector<std::string> MethodLines(const latency::LatencyRecord& record);
/// {"CPU", "..."} and so on.
std::vector<std::pair<std::string, std::string>> MachineRows(const latency::LatencyRecord& record);

const latency::Variant& VariantOf(const latency::LatencyRecord& record, int64_t index);
/// Softmax chunks over chunks of all layers and heads; nothing without such layers.
std::optional<double> OverallShare(const latency::Measurement& measurement);
/// Tokens a second; 0 where the point has none.
double TokenRate(const latency::Measurement& measurement, double seconds);

}  // namespace natsl::reports
