// What a point costs by the model's own arithmetic: operations and bytes for the roofline, and
// memory for the forecast before anything runs. Pure functions of the spec.
#pragma once

#include <cstdint>
#include <string>

#include "latency/record/measurement.h"
#include "model_adapters/spec/model_spec.h"

namespace natsl::latency {

/// How a back-end holds a model.
struct Storage {
  int64_t weight_bytes_each = 4;
  int64_t state_bytes_each = 4;  ///< keys, values and convolution tails
  int64_t batch_tokens = 8192;   ///< most tokens of one forward pass of a session
  /// Passes are shortened down to this where memory is short; 0: they aren't.
  int64_t least_pass_tokens = 0;
  double softmax_share = 1;  ///< NAtS-L: chunks kept for softmax attention
};

struct Work {
  double flops = 0;
  /// Weights once a pass, states read and written once a pass (a prefill's: written). Activations
  /// and what caches save are left out, so that it is a lower bound.
  double bytes = 0;
};

/// Of one sample; decode: of one token of each sequence, in the middle of the new ones. Nothing for
/// kTokenize.
Work WorkOf(const model_adapters::ModelSpec& spec, const Point& point, const Storage& storage);

/// Bytes that a point needs at its peak: weights, states of its sessions and an upper estimate of
/// activations.
struct Forecast {
  int64_t weights_bytes = 0;
  int64_t state_bytes = 0;
  int64_t activations_bytes = 0;
  int64_t least_activations_bytes = 0;  ///< of the shortest passes that it may come to
  /// What must be there for the point to run.
  int64_t required() const { return weights_bytes + state_bytes + least_activations_bytes; }
};
Forecast ForecastOf(const model_adapters::ModelSpec& spec, const Point& point,
                    const Storage& storage);

/// Tokens that a sequence holds at the point's end: what must fit in the model.
int64_t LengthNeeded(const Point& point);

/// "4.2 GiB".
std::string FormatBytes(int64_t bytes);

}  // namespace natsl::latency
