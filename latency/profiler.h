// Measures points: warm-up, interleaved rounds over all variants, memory, and what the GPU says.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/clock.h"
#include "latency/environment.h"
#include "latency/probe.h"
#include "latency/record/measurement.h"
#include "latency/stopping.h"
#include "latency/work.h"

namespace natsl::latency {

/// What is measured as LatencyRecord::variants[i].
struct Measured {
  Target target;
  const model_adapters::ModelSpec* spec = nullptr;  ///< null: no roofline
  Storage storage = {};
};

struct ProfileOptions {
  WarmUpOptions warm_up;
  StoppingOptions stopping;
  ProbeOptions probe;
  int64_t wished_steps = 256;                      ///< decode: single steps for their distribution
  std::function<bool()> stop_requested;            ///< may be empty
  std::function<void(const std::string&)> note;    ///< progress; may be empty
  std::function<void(const LatencyRecord&)> keep;  ///< after every point; may be empty
  const GpuCounters* gpu = nullptr;
};

/// Appends one measurement a point and variant to `record`, whose variants are filled. A stop
/// request ends it with what there is so far. A failure of the model does the same, and is thrown
/// again after record.incomplete_because has been set.
void Profile(const std::vector<Point>& points, const std::vector<Measured>& variants,
             const ProfileOptions& options, const core::Clock& clock, LatencyRecord& record);

/// Limits and shares of one measurement at the rates that were measured.
Roofline RooflineOf(const model_adapters::ModelSpec* spec, const Storage& storage,
                    const Measurement& measurement, const std::optional<CanaryRates>& rates);

}  // namespace natsl::latency
