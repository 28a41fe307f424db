#include "cli/checks/number_checks.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>

namespace natsl::cli {
namespace {

/// The whole text as a number; false where it isn't one, or too large for the type.
template <typename Number>
bool Parse(const std::string& text, Number& value) {
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && at == end;
}

}  // namespace

CLI::Validator WholeNumber(int64_t least, int64_t most) {
  const std::string expected = most == kAnyCount
                                   ? fmt::format("a whole number of at least {}", least)
                                   : fmt::format("a whole number from {} to {}", least, most);
  return CLI::Validator(
      [=](std::string& text) {
        int64_t value = 0;
        if (Parse(text, value) && value >= least && value <= most) return std::string();
        return fmt::format("{} is not {}", text, expected);
      },
      most == kAnyCount ? fmt::format("from {}", least)
                        : fmt::format("from {} to {}", least, most));
}

CLI::Validator SeedNumber() {
  return CLI::Validator(
      [](std::string& text) {
        uint64_t value = 0;
        if (Parse(text, value)) return std::string();
        return fmt::format("{} is not a whole number from 0 to {}", text,
                           std::numeric_limits<uint64_t>::max());
      },
      "");
}

CLI::Validator RealNumber(double least, double most, bool beyond) {
  const bool bounded = most < std::numeric_limits<double>::max();
  const std::string lower = beyond ? fmt::format("above {}", least)
                                   : fmt::format("{} {}", bounded ? "from" : "of at least", least);
  const std::string range = bounded ? fmt::format("{} to {}", lower, most) : lower;
  return CLI::Validator(
      [=](std::string& text) {
        double value = 0;
        const bool within = Parse(text, value) && std::isfinite(value) && value <= most &&
                            (beyond ? value > least : value >= least);
        return within ? std::string() : fmt::format("{} is not a finite number {}", text, range);
      },
      range);
}

}  // namespace natsl::cli
