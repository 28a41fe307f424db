#include "latency/record/lengths.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "core/error.h"
#include "core/limits.h"

namespace natsl::latency {
namespace {

constexpr int64_t kLongest = limits::kMaxLength;
constexpr auto kMostLengths = static_cast<size_t>(limits::kMaxLengths);
constexpr const char* kForms = "a number like 512 or 32k, or a range like 1k-128k*2 or 1k-8k+1k";

/// Parses one list; the members share what errors need.
class LengthParser {
 public:
  LengthParser(std::string_view option, int64_t least) : option_(option), least_(least) {}

  std::vector<int64_t> Parse(std::string_view text) {
    size_t begin = 0;
    while (true) {
      const size_t comma = text.find(',', begin);
      Part(text.substr(begin, comma == std::string_view::npos ? comma : comma - begin));
      if (comma == std::string_view::npos) break;
      begin = comma + 1;
    }
    return {lengths_.begin(), lengths_.end()};
  }

 private:
  void Part(std::string_view part) {
    if (part.empty()) throw UsageError("{}: a value is missing, expected {}", option_, kForms);
    const size_t dash = part.find('-', 1);
    if (dash == std::string_view::npos) return Add(Number(part, part), part);
    const size_t op = part.find_first_of("*+", dash);
    if (op == std::string_view::npos) {
      throw UsageError("{}: \"{}\" has no step, expected {}", option_, part, kForms);
    }
    const int64_t from = Number(part.substr(0, dash), part);
    const int64_t to = Number(part.substr(dash + 1, op - dash - 1), part);
    const int64_t step = Number(part.substr(op + 1), part);
    const bool times = part[op] == '*';
    if (to < from) {
      throw UsageError("{}: \"{}\" descends from {} to {}, expected an ascending range", option_,
                       part, from, to);
    }
    if (times ? step < 2 : step < 1) {
      throw UsageError("{}: \"{}\" never gets on, expected a {}", option_, part,
                       times ? "factor of at least 2" : "step of at least 1");
    }
    if (times && from == 0) {
      throw UsageError("{}: \"{}\" multiplies 0, expected a start of at least 1", option_, part);
    }
    // All are at most 2^30, so that neither the product nor the sum overflows.
    for (int64_t at = from; at <= to; at = times ? at * step : at + step) Add(at, part);
  }

  int64_t Number(std::string_view text, std::string_view part) const {
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
    if (error == std::errc::result_out_of_range) TooLarge(part);
    int64_t factor = 1;
    if (unit == "k" || unit == "K") factor = 1024;
    if (unit == "m" || unit == "M") factor = int64_t{1024} * 1024;
    if (error != std::errc() || (factor == 1 && !unit.empty())) {
      throw UsageError("{}: \"{}\" is no length, expected {}", option_, part, kForms);
    }
    // Negative ones are refused later, by what they are too small for.
    if (value > kLongest / factor || value < -kLongest / factor) TooLarge(part);
    return value * factor;
  }

  [[noreturn]] void TooLarge(std::string_view part) const {
    throw UsageError("{}: \"{}\" goes beyond 2^30 ({}), expected less", option_, part, kLongest);
  }

  void Add(int64_t value, std::string_view part) {
    if (value < least_) {
      throw UsageError("{}: \"{}\" is {}, expected at least {}", option_, part, value, least_);
    }
    lengths_.insert(value);
    if (lengths_.size() > kMostLengths) {
      throw UsageError("{}: more than {} values; take larger steps", option_, kMostLengths);
    }
  }

  std::string_view option_;
  int64_t least_;
  std::set<int64_t> lengths_;
};

}  // namespace

std::vector<int64_t> ParseLengths(std::string_view text, std::string_view option, int64_t least) {
  return LengthParser(option, least).Parse(text);
}

std::vector<double> ParseShares(std::string_view text, std::string_view option) {
  std::set<double> shares;
  size_t begin = 0;
  while (begin <= text.size()) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view part = text.substr(begin, end - begin);
    double value = -1;
    const auto [stop, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (error != std::errc() || stop != part.data() + part.size() || !(value >= 0 && value <= 1)) {
      throw UsageError("{}: \"{}\" is no share, expected numbers from 0 to 1 with commas between",
                       option, part);
    }
    shares.insert(value);
    begin = end + 1;
  }
  return {shares.begin(), shares.end()};
}

std::string FormatLength(int64_t length) {
  return length >= 1024 && length % 1024 == 0 ? fmt::format("{}k", length / 1024)
                                              : fmt::format("{}", length);
}

}  // namespace natsl::latency
