// The few distribution functions that intervals and tests need. Relative accuracy about 1e-12.
#pragma once

#include <cstdint>

namespace natsl::core::statistics {

/// P(Z > z) of the standard normal.
double NormalTail(double z);
/// z with P(Z <= z) = p, 0 < p < 1; infinite at the ends.
double NormalQuantile(double p);

/// Regularised incomplete beta function I_x(a, b), a, b > 0: P(X <= x) of Beta(a, b).
double BetaCdf(double x, double a, double b);
/// x with BetaCdf(x, a, b) = p.
double BetaQuantile(double p, double a, double b);
/// x with 1 - BetaCdf(x, a, b) = p, accurate for small p.
double BetaUpperQuantile(double p, double a, double b);

/// P(X <= k) of Binomial(n, p).
double BinomialCdf(int64_t k, int64_t n, double p);

/// P(|T| > |t|) of Student's t with `freedom` degrees of freedom.
double StudentTwoSided(double t, double freedom);

/// P(X > x) of chi-square with one degree of freedom.
double ChiSquareTail(double x);

}  // namespace natsl::core::statistics
