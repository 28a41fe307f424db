// Options of `natsl-bench latency`, and what they ask for: points and models.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/model_options.h"
#include "latency/profiler.h"
#include "latency/record/measurement.h"
#include "model_adapters/spec/model_spec.h"

namespace natsl::cli {

struct LatencyOptions {
  ModelOptions model;
  std::string prompt = "512", depth, batch = "1", phases = "prefill,ttft,decode", softmax_share;
  int64_t new_tokens = 64;
  std::vector<std::string> baselines;
  std::string output, only, expect, prompt_text, depth_state = "prefill";
  bool overwrite = false, plan = false, quiet = false;
  uint64_t seed = 0;
  double interval_percent = 1, max_seconds = 10;
  int64_t min_samples = 6, max_samples = 2000;
};

void AddLatencyOptions(CLI::App& app, LatencyOptions& options);

/// A model to measure before it is opened: what its config tells.
struct PlannedVariant {
  latency::Variant variant;
  model_adapters::ModelSpec spec;
  latency::Storage storage;
};

/// Subject (once a forced share) and baselines, from their configs alone. Throws Error.
std::vector<PlannedVariant> PlanVariants(const LatencyOptions& options);

/// The points asked for. Those of depths that nobody asked for by name and that don't fit in a
/// model are left out and named in `notes`; others that don't fit are an Error (usage).
std::vector<latency::Point> PlanPoints(const LatencyOptions& options,
                                       const std::vector<PlannedVariant>& variants,
                                       std::vector<std::string>& notes);

/// Throws Error (usage) for the first point that needs more than `available` bytes: which point,
/// how many bytes, for what. `loaded`: the weights are in memory already.
void RequireMemory(const std::vector<latency::Point>& points,
                   const std::vector<PlannedVariant>& variants, int64_t available, bool loaded);

std::unique_ptr<model_adapters::TokenModel> OpenVariant(const LatencyOptions& options,
                                                        const PlannedVariant& variant);

}  // namespace natsl::cli
