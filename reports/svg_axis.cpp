#include "reports/svg_axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>

namespace natsl::reports {
namespace {

struct Unit {
  double size;
  const char* name;
};

// `units` ascending; the largest that isn't above |value|, else the smallest.
std::string WithUnit(double value, std::span<const Unit> units, int digits) {
  const Unit* unit = &units.front();
  // 999.6 ms would be written as 1000 ms: take the next unit from where rounding would reach it.
  const double rounded = std::fabs(value) * (1 + 0.5 * std::pow(10, -digits));
  for (const Unit& candidate : units) {
    if (rounded >= candidate.size) unit = &candidate;
  }
  return fmt::format("{} {}", FormatNumber(value / unit->size, NumberFormat::kPlain, digits),
                     unit->name);
}

constexpr std::array<Unit, 5> kTime = {
    {{1e-9, "ns"}, {1e-6, "µs"}, {1e-3, "ms"}, {1, "s"}, {3600, "h"}}};
constexpr std::array<Unit, 5> kMemory = {
    {{1, "B"}, {0x1p10, "KiB"}, {0x1p20, "MiB"}, {0x1p30, "GiB"}, {0x1p40, "TiB"}}};

}  // namespace

std::string FormatNumber(double value, NumberFormat format, int digits) {
  if (!std::isfinite(value)) return "–";
  switch (format) {
    case NumberFormat::kPlain: {
      if (value == 0) return "0";
      const int exponent = static_cast<int>(std::floor(std::log10(std::fabs(value)))) + 1;
      if (exponent > 9 || exponent < -5) return fmt::format("{:.{}g}", value, digits);
      std::string text = fmt::format("{:.{}f}", value, std::max(0, digits - exponent));
      if (text.find('.') != std::string::npos) {
        text.erase(text.find_last_not_of('0') + 1);
        if (text.back() == '.') text.pop_back();
      }
      return text;
    }
    case NumberFormat::kTokens:
      if (value >= 1024 && std::fmod(value, 1024) == 0) return fmt::format("{:.0f}k", value / 1024);
      return FormatNumber(value, NumberFormat::kPlain, std::max(digits, 7));
    case NumberFormat::kSeconds:
      return value == 0 ? "0 s" : WithUnit(value, kTime, digits);
    case NumberFormat::kBytes:
      return value == 0 ? "0 B" : WithUnit(value, kMemory, digits);
    case NumberFormat::kPercent:
      return FormatNumber(100 * value, NumberFormat::kPlain, digits) + " %";
    case NumberFormat::kMultiple:
      return FormatNumber(value, NumberFormat::kPlain, digits) + "×";
  }
  return "";
}

AxisMap::AxisMap(const PlotAxis& axis, double low, double high, int ticks,
                 const std::vector<double>& values)
    : scale_(axis.scale), low_(axis.low.value_or(low)), high_(axis.high.value_or(high)) {
  std::vector<double> at;
  if (scale_ == AxisScale::kLinear) {
    if (!(high_ > low_)) {
      const double room = low_ == 0 ? 1 : std::fabs(low_) * 0.1;
      low_ -= axis.low ? 0 : room;
      high_ += room;
    }
    at = LinearTicks(ticks);
    const double step = at.size() > 1 ? at[1] - at[0] : 0;
    if (!axis.low && step > 0) low_ = std::min(low_, std::floor(low_ / step + 1e-9) * step);
    if (!axis.high && step > 0) high_ = std::max(high_, std::ceil(high_ / step - 1e-9) * step);
    at = LinearTicks(ticks);
  } else {
    if (!(low_ > 0)) low_ = high_ > 0 ? high_ / 10 : 1;
    if (!(high_ > low_)) {
      high_ = low_ * 1.5;
      low_ /= 1.5;
    }
    // Room, so that no point sits on the frame.
    const double margin = std::pow(high_ / low_, 0.03);
    if (!axis.low) low_ /= margin;
    if (!axis.high) high_ *= margin;
    if (!values.empty() && values.size() <= static_cast<size_t>(ticks) + 2) {
      at = values;
    } else {
      at = LogTicks(ticks);
    }
  }
  for (const double value : at) ticks_.push_back({value, FormatNumber(value, axis.format)});
}

double AxisMap::Scaled(double value) const {
  return scale_ == AxisScale::kLinear ? value : std::log(value);
}

double AxisMap::Map(double value) const {
  return (Scaled(value) - Scaled(low_)) / (Scaled(high_) - Scaled(low_));
}

std::vector<double> AxisMap::LinearTicks(int wished) {
  const double raw = (high_ - low_) / std::max(1, wished - 1);
  const double power = std::pow(10, std::floor(std::log10(raw)));
  double step = 10 * power;
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= raw * (1 - 1e-9)) {
      step = factor * power;
      break;
    }
  }
  std::vector<double> ticks;
  const auto first = static_cast<int64_t>(std::ceil(low_ / step - 1e-9));
  const auto last = static_cast<int64_t>(std::floor(high_ / step + 1e-9));
  for (int64_t i = first; i <= last; ++i) ticks.push_back(static_cast<double>(i) * step);
  return ticks;
}

std::vector<double> AxisMap::LogTicks(int wished) const {
  std::vector<double> ticks;
  const double base = scale_ == AxisScale::kLog2 ? 2 : 10;
  const double first = std::ceil(std::log(low_) / std::log(base) - 1e-9);
  const double last = std::floor(std::log(high_) / std::log(base) + 1e-9);
  if (base == 10 && last - first < 2) {
    for (double power = first - 1; power <= last; ++power) {
      for (const double factor : {1.0, 2.0, 5.0}) {
        const double value = factor * std::pow(10, power);
        if (value >= low_ && value <= high_) ticks.push_back(value);
      }
    }
    if (ticks.size() >= 2) return ticks;
    // Less than a factor of two: the linear ticks that lie inside.
    AxisMap linear(PlotAxis{.label = "", .low = low_, .high = high_}, low_, high_, wished);
    ticks.clear();
    for (const AxisTick& tick : linear.ticks()) ticks.push_back(tick.value);
    return ticks;
  }
  const double stride = std::max(1.0, std::ceil((last - first + 1) / wished));
  for (double power = first; power <= last; power += stride) ticks.push_back(std::pow(base, power));
  return ticks;
}

}  // namespace natsl::reports
