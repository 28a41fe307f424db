// Optimal string alignment distance and the ranking made of it.
#include "tasks/nearest_names.h"

#include <algorithm>

#include "core/cast.h"

namespace natsl::tasks {

int64_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<int64_t> before_last(b.size() + 1);
  std::vector<int64_t> last(b.size() + 1);
  std::vector<int64_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = static_cast<int64_t>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = static_cast<int64_t>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const int64_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
    }
    std::swap(before_last, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

std::vector<std::string> NearestNames(const std::string& name,
                                      const std::vector<std::string>& names, int64_t count) {
  std::vector<std::pair<int64_t, std::string>> ranked;
  const int64_t limit = std::max<int64_t>(2, core::Size(name) / 3);
  for (const std::string& candidate : names) {
    int64_t distance = EditDistance(name, candidate);
    const bool holds = name.size() >= 3 && (candidate.find(name) != std::string::npos ||
                                            name.find(candidate) != std::string::npos);
    if (holds) distance = std::min<int64_t>(distance, 1);
    if (distance <= limit) ranked.emplace_back(distance, candidate);
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> nearest;
  for (const auto& [distance, candidate] : ranked) {
    if (core::Size(nearest) < count) nearest.push_back(candidate);
  }
  return nearest;
}

}  // namespace natsl::tasks
