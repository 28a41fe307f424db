// Axes of plots: ranges, ticks and how numbers are written on them. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace natsl::reports {

enum class AxisScale { kLinear, kLog10, kLog2 };

/// How a number is written.
enum class NumberFormat {
  kPlain,     ///< 1250, 0.02
  kTokens,    ///< 512, 1k, 128k (k = 1024)
  kSeconds,   ///< seconds: "3.2 ms"
  kBytes,     ///< bytes: "64 MiB"
  kPercent,   ///< 0.25: "25 %"
  kMultiple,  ///< 1.5: "1.5×"
};

/// The number with `digits` significant digits at most, without trailing zeros.
std::string FormatNumber(double value, NumberFormat format, int digits = 3);

struct PlotAxis {
  std::string label = {};
  AxisScale scale = AxisScale::kLinear;
  NumberFormat format = NumberFormat::kPlain;
  /// Fixed ends; nothing: from the data, widened to full ticks on a linear axis.
  std::optional<double> low = {}, high = {};
};

struct AxisTick {
  double value = 0;
  std::string label = {};
};

/// An axis over `low`..`high` (both positive on log axes), drawn on 0..1.
class AxisMap {
 public:
  /// `low` and `high`: of the data. About `ticks` ticks; `values` (sorted): on a log axis the ticks
  /// stand at these where they are few enough.
  AxisMap(const PlotAxis& axis, double low, double high, int ticks,
          const std::vector<double>& values = {});

  /// 0 at the axis's low end, 1 at its high end; not clipped.
  double Map(double value) const;
  const std::vector<AxisTick>& ticks() const { return ticks_; }
  double low() const { return low_; }
  double high() const { return high_; }

 private:
  double Scaled(double value) const;
  std::vector<double> LinearTicks(int wished);
  std::vector<double> LogTicks(int wished) const;

  AxisScale scale_;
  double low_, high_;
  std::vector<AxisTick> ticks_;
};

}  // namespace natsl::reports
