// A latency run as Markdown: llama-bench's table first, then everything with its definitions.
#pragma once

#include <string>

#include "latency/record/measurement.h"

namespace natsl::reports {

/// The table that llama-bench's users know: model, size, params, backend, threads, test, t/s with
/// the samples' deviation. Points without a rate of tokens are left out.
std::string LlamaBenchTable(const latency::LatencyRecord& record);

std::string LatencyMarkdown(const latency::LatencyRecord& record);

}  // namespace natsl::reports
