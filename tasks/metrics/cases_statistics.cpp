// Cases of intervals and tests. Where two packages of the reference differ, both are followed under
// their names.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "core/error.h"
#include "core/statistics/descriptive.h"
#include "core/statistics/distributions.h"
#include "core/statistics/mann_whitney.h"
#include "core/statistics/paired_tests.h"
#include "core/statistics/proportion.h"
#include "core/statistics/resampling.h"
#include "tasks/metrics/cases.h"

namespace natsl::tasks::metrics {
namespace {

namespace stats = core::statistics;
using stats::Estimate;

/// statsmodels and scipy.mannwhitneyu give NaN where there is no value.
Json ValueOrNan(const Estimate& estimate) {
  return estimate.has_value() ? NumberJson(estimate.value()) : Json("NaN");
}

Json IntervalOrNan(const stats::Interval& interval) {
  return Json::array({ValueOrNan(interval.low), ValueOrNan(interval.high)});
}

Json IntervalOrReason(const stats::Interval& interval) {
  if (!interval.low.has_value()) return ValueOrReason(interval.low);
  return Json::array({NumberJson(interval.low.value()), NumberJson(interval.high.value())});
}

Json TestJson(const stats::TestResult& result, const char* statistic = "statistic") {
  return {{statistic, ValueOrNan(result.statistic)}, {"pvalue", ValueOrNan(result.p_value)}};
}

/// A root in [0, 1] by Brent's method, stopping at a width of 2e-12: scipy finds its exact interval
/// so, and for small proportions the last digits show it.
template <typename Function>
double BrentRoot(const Function& f) {
  double previous = 0, current = 1, opposite = 0;
  double f_previous = f(previous), f_current = f(current), f_opposite = 0;
  double last_step = 0, step = 0;
  for (int i = 0; i < 100; ++i) {
    if (f_previous != 0 && f_current != 0 && std::signbit(f_previous) != std::signbit(f_current)) {
      opposite = previous;
      f_opposite = f_previous;
      last_step = step = current - previous;
    }
    if (std::abs(f_opposite) < std::abs(f_current)) {
      previous = current;
      current = opposite;
      opposite = previous;
      f_previous = f_current;
      f_current = f_opposite;
      f_opposite = f_previous;
    }
    const double tolerance = (2e-12 + 4 * std::numeric_limits<double>::epsilon() * current) / 2;
    const double bisection = (opposite - current) / 2;
    if (f_current == 0 || std::abs(bisection) < tolerance) break;
    double trial = bisection;
    if (std::abs(last_step) > tolerance && std::abs(f_current) < std::abs(f_previous)) {
      if (previous == opposite) {
        trial = -f_current * (current - previous) / (f_current - f_previous);
      } else {
        const double a = (f_previous - f_current) / (previous - current);
        const double b = (f_opposite - f_current) / (opposite - current);
        trial =
            -f_current * (f_opposite * b - f_previous * a) / (b * a * (f_opposite - f_previous));
      }
      const double limit = std::min(std::abs(last_step), 3 * std::abs(bisection) - tolerance);
      if (2 * std::abs(trial) < limit) {
        last_step = step;
        step = trial;
      } else {
        last_step = step = bisection;
      }
    } else {
      last_step = step = bisection;
    }
    previous = current;
    f_previous = f_current;
    current += std::abs(step) > tolerance ? step : bisection > 0 ? tolerance : -tolerance;
    f_current = f(current);
  }
  return current;
}

stats::Interval ScipyExactInterval(int64_t k, int64_t n, double alpha) {
  stats::Interval interval = stats::ClopperPearsonInterval(k, n, alpha);
  if (!interval.low.has_value()) return interval;
  const double tail = (1 - (1 - alpha)) / 2;
  const auto successes = static_cast<double>(k), failures = static_cast<double>(n - k);
  if (k > 0) {
    interval.low =
        BrentRoot([&](double p) { return stats::BetaCdf(p, successes, failures + 1) - tail; });
  }
  if (k < n) {
    interval.high =
        BrentRoot([&](double p) { return stats::BetaCdf(1 - p, failures, successes + 1) - tail; });
  }
  return interval;
}

stats::Interval ScipyWilsonInterval(int64_t k, int64_t n, double alpha) {
  stats::Interval interval = stats::WilsonInterval(k, n, alpha);
  if (interval.low.has_value() && k == 0) interval.low = 0;
  if (interval.high.has_value() && k == n) interval.high = 1;
  return interval;
}

/// The distribution of the mean over all n^n resamples.
Json Enumerated(const std::vector<double>& values) {
  const size_t n = values.size();
  std::vector<double> means;
  std::vector<size_t> drawn(n);
  for (bool more = true; more;) {
    double sum = 0;
    for (const size_t index : drawn) sum += values[index];
    means.push_back(sum / static_cast<double>(n));
    more = false;
    for (size_t digit = n; digit-- > 0 && !more;) {
      more = ++drawn[digit] < n;
      if (!more) drawn[digit] = 0;
    }
  }
  const auto total = static_cast<double>(means.size());
  double below = 0, zero = 0;
  for (const double mean : means) {
    if (std::abs(mean) <= 1e-12) {
      ++zero;
    } else if (mean < 0) {
      ++below;
    }
  }
  const double deviation = stats::PopulationDeviation(means).value();
  std::sort(means.begin(), means.end());
  return {{"resamples", means.size()},
          {"p_le_0", (below + zero) / total},
          {"p_lt_0", below / total},
          {"p_eq_0", zero / total},
          {"percentile_2.5", stats::Quantile(means, 0.025).value()},
          {"percentile_97.5", stats::Quantile(means, 0.975).value()},
          {"se", deviation}};
}

}  // namespace

Json McNemarCase(const Json& sample) {
  int64_t only_a = 0, only_b = 0;
  const Json& table = Extra(sample, "table");
  if (table.is_array() && table.size() == 2) {
    only_a = AsIntegers(table[0], "table").at(1);
    only_b = AsIntegers(table[1], "table").at(0);
  } else {
    const auto a = AsNumbers(Field(sample, "prediction"), "prediction");
    const auto b = AsNumbers(Field(sample, "references"), "references");
    if (a.size() != b.size()) throw DataError("{} outcomes against {}", a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) {
      only_a += a[i] != 0 && b[i] == 0 ? 1 : 0;
      only_b += a[i] == 0 && b[i] != 0 ? 1 : 0;
    }
  }
  const stats::TestResult exact = stats::McNemarExact(only_a, only_b);
  Json score = {{"exact", TestJson(exact)},
                {"chi2", TestJson(stats::McNemarChiSquare(only_a, only_b, 0))},
                {"chi2_corrected", TestJson(stats::McNemarChiSquare(only_a, only_b, 1))},
                {"binomtest_two_sided", ValueOrNan(exact.p_value)}};
  if (only_a + only_b == 0) {
    // 1 / 0 in that package's corrected form. It says nothing of the systems.
    score["chi2_corrected"] = {{"statistic", "Infinity"}, {"pvalue", 0.0}};
    score["binomtest_two_sided"] = nullptr;
  }
  return score;
}

Json ProportionCase(const Json& sample) {
  const int64_t k = AsIntegers(Json::array({Field(sample, "prediction")}), "prediction")[0];
  const std::vector<int64_t> trials = AsIntegers(Field(sample, "references"), "references");
  if (trials.size() != 1) throw DataError("references: expected one number of trials");
  const int64_t n = trials[0];
  const double alpha = AsNumber(Extra(sample, "alpha"), "alpha");
  return {{"wilson", IntervalOrNan(stats::WilsonInterval(k, n, alpha))},
          {"clopper_pearson", IntervalOrNan(stats::ClopperPearsonInterval(k, n, alpha))},
          {"agresti_coull", IntervalOrNan(stats::AgrestiCoullInterval(k, n, alpha))},
          {"normal", IntervalOrNan(stats::NormalInterval(k, n, alpha))},
          {"jeffreys", IntervalOrNan(stats::JeffreysInterval(k, n, alpha))},
          {"scipy_wilson", IntervalOrReason(ScipyWilsonInterval(k, n, alpha))},
          {"scipy_wilsoncc", IntervalOrReason(stats::WilsonCorrectedInterval(k, n, alpha))},
          {"scipy_exact", IntervalOrReason(ScipyExactInterval(k, n, alpha))}};
}

Json MannWhitneyCase(const Json& sample) {
  const auto x = AsNumbers(Field(sample, "prediction"), "prediction");
  const auto y = AsNumbers(Field(sample, "references"), "references");
  constexpr std::array<std::pair<const char*, stats::MannWhitneyMethod>, 3> kMethods = {
      {{"exact", stats::MannWhitneyMethod::kExact},
       {"asymptotic", stats::MannWhitneyMethod::kAsymptotic},
       {"auto", stats::MannWhitneyMethod::kAuto}}};
  constexpr std::array<std::pair<const char*, stats::Alternative>, 3> kAlternatives = {
      {{"two-sided", stats::Alternative::kTwoSided},
       {"less", stats::Alternative::kLess},
       {"greater", stats::Alternative::kGreater}}};
  Json score;
  for (const auto& [method_name, method] : kMethods) {
    for (const auto& [name, alternative] : kAlternatives) {
      score[method_name][name] = TestJson(stats::MannWhitney(x, y, alternative, method), "U");
    }
  }
  score["asymptotic_no_continuity"] =
      TestJson(stats::MannWhitney(x, y, stats::Alternative::kTwoSided,
                                  stats::MannWhitneyMethod::kAsymptotic, false),
               "U");
  return score;
}

Json PairedBootstrapCase(const Json& sample) {
  const auto a = AsNumbers(Field(sample, "prediction"), "prediction");
  const auto b = AsNumbers(Field(sample, "references"), "references");
  if (a.size() != b.size()) throw DataError("{} values against {}", a.size(), b.size());
  std::vector<double> differences(a.size());
  for (size_t i = 0; i < a.size(); ++i) differences[i] = a[i] - b[i];
  const size_t n = differences.size();
  const Estimate deviation = stats::PopulationDeviation(differences);
  const Estimate error = stats::MeanStandardError(differences);
  Json score;
  score["mean_diff"] = ValueOrThrow(stats::NumpyMean(differences));
  score["bootstrap_se_exact"] = deviation.value() / std::sqrt(static_cast<double>(n));
  score["stderr_ddof1"] = error.has_value() ? NumberJson(error.value()) : Json();
  if (n <= 7) score["enumerated"] = Enumerated(differences);
  if (n > 1) {
    const auto bootstrap = stats::PairedBootstrap(a, b);
    score["scipy_bootstrap"] = {{"low", ValueOrReason(bootstrap.interval.low)},
                                {"high", ValueOrReason(bootstrap.interval.high)},
                                {"se", ValueOrReason(bootstrap.error)}};
  }
  if (n <= 12) score["sign_flip_exact_p"] = ValueOrReason(stats::SignFlipPValue(differences));
  if (n > 1) {
    score["ttest_rel"] = TestJson(stats::PairedTTest(differences), "t");
    score["wilcoxon"] = TestJson(stats::WilcoxonSignedRank(differences), "W");
  }
  return score;
}

}  // namespace natsl::tasks::metrics
