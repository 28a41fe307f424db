// Learning rates and context lengths over the steps of a run. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace natsl::training {

struct ScheduleOptions {
  int64_t steps = 1;
  int64_t warmup = 0;  ///< steps of linear rise
  double lr = 1e-3;    ///< after the rise
  double min_lr = 0;   ///< at the last step
};
/// The rate of step `step` (from 0): lr * (step + 1) / warmup while step < warmup, then half a
/// cosine from lr down to min_lr, which the last step has.
double LearningRate(const ScheduleOptions& options, int64_t step);

/// A stretch of steps at one context length.
struct Phase {
  int64_t context = 0;
  int64_t begin = 0, end = 0;  ///< steps
};
/// Phases of a curriculum "256*4,512*2,2048" (length, and a weight that is 1 where absent): in that
/// order, the steps shared out by weight; a phase that gets no step is left out. Throws Error
/// (usage).
std::vector<Phase> ParseCurriculum(std::string_view text, int64_t steps);
/// The phase of a step.
const Phase& PhaseOf(const std::vector<Phase>& phases, int64_t step);

}  // namespace natsl::training
