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
  int64_t batch_tokens = 8192;   ///< most tokens of one forward pass
  double softmax_share = 1;      ///< NAtS-L: chunks kept for softmax attention
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

/// Bytes beyond the weights that a point needs at its peak: states of its sessions and an upper
/// estimate of activations.
struct Forecast {
  int64_t weights_bytes = 0;
  int64_t state_bytes = 0;
  int64_t activations_bytes = 0;
  int64_t total() const { return weights_bytes + state_bytes + activations_bytes; }
};
Forecast ForecastOf(const model_adapters::ModelSpec& spec, const Point& point,
                    const Storage& storage);

/// Tokens that a sequence holds at the point's end: what must fit in the model.
int64_t LengthNeeded(const Point& point);

/// "4.2 GiB".
std::string FormatBytes(int64_t bytes);

}  // namespace natsl::latency
