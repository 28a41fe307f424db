// Checks of numbers on the command line: what CLI11 would clamp, wrap or let through is refused.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

namespace natsl::cli {

constexpr int64_t kAnyCount = INT64_MAX;

/// A whole number in decimal digits from `least` to `most`.
CLI::Validator WholeNumber(int64_t least, int64_t most);

/// A seed: a whole number from 0 to 2^64 - 1.
CLI::Validator SeedNumber();

/// A finite number from `least` to `most`; `beyond`: it must be larger than `least`.
CLI::Validator RealNumber(double least, double most, bool beyond = false);

}  // namespace natsl::cli
