// The plots of a latency run, as SVG; "" where a run has nothing to show in one.
#pragma once

#include <string>
#include <vector>

#include "latency/record/measurement.h"

namespace natsl::reports {

/// Time against length on log axes, with the fits and the crossovers: one a phase and batch.
std::vector<std::string> LengthPlots(const latency::LatencyRecord& record);
/// Time a token against depth.
std::vector<std::string> DecodePlots(const latency::LatencyRecord& record);
/// Baseline's time over the subject's against length or depth: one a phase and batch.
std::vector<std::string> SpeedUpPlots(const latency::LatencyRecord& record);
/// States and peak against length, and where the memory of the longest point goes.
std::vector<std::string> MemoryPlots(const latency::LatencyRecord& record);
/// Speed-up (time without a baseline) against the softmax share.
std::vector<std::string> SharePlots(const latency::LatencyRecord& record);
/// Distribution of single decoding steps at the largest depth.
std::vector<std::string> StepPlots(const latency::LatencyRecord& record);

}  // namespace natsl::reports
