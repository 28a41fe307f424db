// Records with given samples, for tests of what is made of them.
#pragma once

#include <functional>
#include <vector>

#include "latency/record/measurement.h"
#include "latency/record/summary.h"

namespace natsl::latency {

/// Samples of rounds 0, 1, 2, ...
inline Measurement ExampleMeasurement(int64_t variant, const Point& point,
                                      const std::vector<double>& samples) {
  Measurement measurement;
  measurement.variant = variant;
  measurement.point = point;
  measurement.samples = samples;
  for (size_t i = 0; i < samples.size(); ++i) {
    measurement.rounds.push_back(static_cast<int64_t>(i));
  }
  measurement.stopped_because = "interval";
  measurement.summary = Summarize(samples);
  measurement.cold_seconds = samples.empty() ? 0 : 2 * samples.front();
  measurement.memory = {.weights_bytes = 1 << 20,
                        .kv_bytes = 1024 * point.prompt,
                        .recurrent_bytes = 4096,
                        .convolution_bytes = 512,
                        .activations_bytes = 1 << 16,
                        .peak_bytes = 3 << 20,
                        .state_bytes_per_token = 1024,
                        .pass_tokens = point.prompt,
                        .source = "high-water mark of the process, one model in it"};
  return measurement;
}

/// A subject and a baseline, ten equal samples of prefill at each length.
inline LatencyRecord ExampleRecord(const std::vector<int64_t>& lengths,
                                   const std::function<double(double)>& subject,
                                   const std::function<double(double)>& baseline) {
  LatencyRecord record;
  record.program_version = "0.1.0";
  record.complete = true;
  Variant variant{.role = "subject",
                  .model = "models/subject",
                  .label = "subject",
                  .softmax_share = {},
                  .family = "gated_deltanet",
                  .dtype = "float32",
                  .device = "cpu",
                  .weights_fingerprint = "aa",
                  .parameters = 1 << 18,
                  .weights_bytes = 1 << 20,
                  .max_length = 1 << 17,
                  .vocabulary = 512};
  record.variants.push_back(variant);
  variant.role = "baseline 1";
  variant.model = variant.label = "baseline";
  record.variants.push_back(variant);
  for (const int64_t length : lengths) {
    const Point point{.phase = Phase::kPrefill, .prompt = length};
    const auto l = static_cast<double>(length);
    record.measurements.push_back(
        ExampleMeasurement(0, point, std::vector<double>(10, subject(l))));
    record.measurements.push_back(
        ExampleMeasurement(1, point, std::vector<double>(10, baseline(l))));
  }
  return record;
}

}  // namespace natsl::latency
