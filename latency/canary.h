// What the host reaches right now in a matrix product and in a copy: the peaks that a roofline is
// drawn with, and, before and after a run, a sign of whether the machine was disturbed.
#pragma once

#include "core/clock.h"
#include "latency/record/measurement.h"

namespace natsl::latency {

/// Takes about a third of a second on `threads` threads (0: all that this process may use), and on
/// a machine that is busy with something else at most a few. float32.
CanaryRates MeasureHost(int threads, const core::Clock& clock);

}  // namespace natsl::latency
