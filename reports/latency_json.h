// latency.json: a latency run with its raw samples, as a versioned file, and back.
#pragma once

#include <filesystem>
#include <string>

#include "latency/record/measurement.h"

namespace natsl::reports {

/// Durations in seconds, memory in bytes. What doesn't exist is null.
std::string LatencyJson(const latency::LatencyRecord& record);

/// What comparisons need: method, settings, machine, variants, points with their samples (whose
/// summaries are computed anew). `path`: the file, or the folder that holds latency.json. Throws
/// Error (data): unreadable, of another schema or version, samples that aren't positive numbers.
latency::LatencyRecord ReadLatencyJson(const std::filesystem::path& path);

/// Whether `path` is a latency file, or a folder with one.
bool IsLatencyRun(const std::filesystem::path& path);

}  // namespace natsl::reports
