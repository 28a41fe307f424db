// One point of one model, made ready: what a phase times and what it prepares outside of the time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/clock.h"
#include "latency/record/measurement.h"
#include "model_adapters/token_model.h"
#include "model_adapters/tokenizer.h"

namespace natsl::latency {

/// A model to measure. What the pointers name outlives every probe.
struct Target {
  model_adapters::TokenModel* model = nullptr;
  const model_adapters::Tokenizer* tokenizer = nullptr;  ///< null: no tokenize phase
};

struct ProbeOptions {
  uint64_t seed = 0;  ///< of the ids, uniform over the vocabulary
  /// Ids to feed instead, from a text: repeated where they end. Empty: random ids.
  std::vector<model_adapters::TokenId> data;
  std::string text;              ///< to tokenize, repeated; "": made up
  bool synthetic_depth = false;  ///< decode: a grown state rather than a computed one
};

/// The last sample's session, while it is still alive.
using SessionView = std::function<void(const model_adapters::Session&)>;

class Probe {
 public:
  virtual ~Probe() = default;
  /// Measures once: seconds; decode: a token's. `view` (may be empty) sees the session at the end,
  /// outside of the time.
  virtual double Sample(const SessionView& view = {}) = 0;
  /// Decode: the new tokens of one sample timed one by one, the first always, the others as long as
  /// all together took less than `max_seconds`; empty for other phases.
  virtual std::vector<double> Steps(double /*max_seconds*/) { return {}; }
};

/// Computes the state of the point's depth where it needs one. Throws Error: whatever the model
/// throws, and usage where a synthetic state or a tokenizer is asked for and there is none.
std::unique_ptr<Probe> MakeProbe(const Target& target, const Point& point,
                                 const ProbeOptions& options, const core::Clock& clock);

}  // namespace natsl::latency
