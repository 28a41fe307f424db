// Confidence intervals of a proportion: k successes of n trials, confidence 1 - alpha.
#pragma once

#include <cstdint>

#include "core/statistics/estimate.h"

namespace natsl::core::statistics {

struct Interval {
  Estimate low;
  Estimate high;
};

/// k in [0, n] and alpha in (0, 1), otherwise none; none for n = 0 too, but for the two whose
/// formula has a value there (Agresti and Coull's, Jeffreys').

/// Wilson's score interval: (p + z^2/2n +- z sqrt(p(1-p)/n + z^2/4n^2)) / (1 + z^2/n).
/// The ends for k = 0 and k = n are 0 and 1 up to rounding.
Interval WilsonInterval(int64_t k, int64_t n, double alpha = 0.05);
/// Wilson's with continuity correction (Newcombe 1998).
Interval WilsonCorrectedInterval(int64_t k, int64_t n, double alpha = 0.05);
/// Clopper and Pearson's exact interval: quantiles of Beta(k, n-k+1) and Beta(k+1, n-k).
Interval ClopperPearsonInterval(int64_t k, int64_t n, double alpha = 0.05);
/// Wilson's centre with the normal width, cut to [0, 1].
Interval AgrestiCoullInterval(int64_t k, int64_t n, double alpha = 0.05);
/// p +- z sqrt(p(1-p)/n), cut to [0, 1]. Too narrow near 0 and 1: for comparison only.
Interval NormalInterval(int64_t k, int64_t n, double alpha = 0.05);
/// Quantiles of Beta(k + 1/2, n - k + 1/2).
Interval JeffreysInterval(int64_t k, int64_t n, double alpha = 0.05);

}  // namespace natsl::core::statistics
