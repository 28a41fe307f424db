// The schedule.
#include "training/loop/schedule.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numbers>

#include "core/check.h"
#include "core/error.h"

namespace natsl::training {
namespace {

template <typename Number>
bool ParseWhole(std::string_view text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

double LearningRate(const ScheduleOptions& options, int64_t step) {
  if (step < options.warmup) {
    return options.lr * static_cast<double>(step + 1) / static_cast<double>(options.warmup);
  }
  const int64_t last = options.steps - 1;
  if (last <= options.warmup) return step >= last && last > 0 ? options.min_lr : options.lr;
  const double progress = std::min(
      1.0, static_cast<double>(step - options.warmup) / static_cast<double>(last - options.warmup));
  return options.min_lr +
         (options.lr - options.min_lr) * 0.5 * (1 + std::cos(std::numbers::pi * progress));
}

std::vector<Phase> ParseCurriculum(std::string_view text, int64_t steps) {
  struct Item {
    int64_t context = 0;
    double weight = 1;
  };
  std::vector<Item> items;
  double sum = 0;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view item = text.substr(begin, end - begin);
    begin = end + 1;
    const size_t star = item.find('*');
    Item parsed;
    if (!ParseWhole(item.substr(0, star), parsed.context) || parsed.context < 16 ||
        (star != std::string_view::npos && (!ParseWhole(item.substr(star + 1), parsed.weight) ||
                                            !(parsed.weight > 0 && parsed.weight < 1e9)))) {
      throw UsageError(
          "curriculum: '{}', expected lengths of at least 16, each with a weight where it isn't 1: "
          "256*4,512*2,2048",
          item);
    }
    sum += parsed.weight;
    items.push_back(parsed);
  }
  std::vector<Phase> phases;
  double upto = 0;
  int64_t begin = 0;
  for (size_t i = 0; i < items.size(); ++i) {
    upto += items[i].weight;
    const int64_t end =
        i + 1 == items.size() ? steps : std::llround(static_cast<double>(steps) * upto / sum);
    if (end > begin) phases.push_back({items[i].context, begin, end});
    begin = std::max(begin, end);
  }
  return phases;
}

const Phase& PhaseOf(const std::vector<Phase>& phases, int64_t step) {
  for (const Phase& phase : phases) {
    if (step < phase.end) return phase;
  }
  NATSL_CHECK(!phases.empty());
  return phases.back();
}

}  // namespace natsl::training
