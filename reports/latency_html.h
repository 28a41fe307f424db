// A latency run as one HTML file with plots.
#pragma once

#include <string>

#include "latency/record/measurement.h"

namespace natsl::reports {

std::string LatencyHtml(const latency::LatencyRecord& record);

}  // namespace natsl::reports
