#include "latency/plan.h"

#include <algorithm>

#include "core/error.h"

namespace natsl::latency {
namespace {

std::vector<std::string_view> Split(std::string_view text) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t comma = std::min(text.find(','), text.size());
    parts.push_back(text.substr(0, comma));
    if (comma == text.size()) return parts;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace

std::vector<Phase> ParsePhases(std::string_view text) {
  if (text == "all") return AllPhases();
  const std::vector<std::string_view> names = Split(text);
  std::vector<Phase> phases;
  for (const Phase phase : AllPhases()) {
    if (std::find(names.begin(), names.end(), Name(phase)) != names.end()) phases.push_back(phase);
  }
  for (const std::string_view name : names) {
    const auto& all = AllPhases();
    if (std::none_of(all.begin(), all.end(), [&](Phase phase) { return Name(phase) == name; })) {
      throw UsageError(
          "--phases: \"{}\" is no phase, expected all, or some of prefill, ttft, decode, e2e, "
          "tokenize, sample with commas between",
          name);
    }
  }
  return phases;
}

std::vector<Point> MakePlan(const PlanOptions& options) {
  std::vector<Point> points;
  for (const Phase phase : options.phases) {
    const bool at_depth = phase == Phase::kDecode || phase == Phase::kSample;
    const bool generates = phase == Phase::kDecode || phase == Phase::kEndToEnd;
    for (const int64_t batch : options.batches) {
      for (const int64_t length : at_depth ? options.depths : options.prompts) {
        points.push_back({.phase = phase,
                          .batch = batch,
                          .prompt = at_depth ? 0 : length,
                          .depth = at_depth ? length : 0,
                          .new_tokens = generates ? options.new_tokens : 0});
      }
    }
  }
  return points;
}

std::vector<Point> Only(const std::vector<Point>& points, std::string_view names) {
  std::vector<Point> kept;
  const std::vector<std::string_view> wanted = Split(names);
  for (const Point& point : points) {
    if (std::find(wanted.begin(), wanted.end(), Name(point)) != wanted.end()) kept.push_back(point);
  }
  for (const std::string_view name : wanted) {
    if (std::none_of(points.begin(), points.end(),
                     [&](const Point& point) { return Name(point) == name; })) {
      throw UsageError("--only: \"{}\" is not among the points of this command", name);
    }
  }
  return kept;
}

}  // namespace natsl::latency
