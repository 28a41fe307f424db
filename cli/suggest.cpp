#include "cli/suggest.h"

#include <algorithm>
#include <utility>

namespace natsl::cli {

int EditDistance(const std::string& a, const std::string& b) {
  std::vector<std::vector<int>> cost(a.size() + 1, std::vector<int>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        cost[i][j] = static_cast<int>(i + j);
        continue;
      }
      const int replaced = cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
      }
    }
  }
  return cost[a.size()][b.size()];
}

std::vector<std::string> Nearest(const std::string& name, const std::vector<std::string>& names) {
  std::vector<std::pair<int, std::string>> near;
  for (const std::string& candidate : names) {
    const int distance = EditDistance(name, candidate);
    const bool starts = candidate.starts_with(name) || name.starts_with(candidate);
    if (distance <= std::max<int>(2, static_cast<int>(name.size()) / 3) || starts) {
      near.emplace_back(distance, candidate);
    }
  }
  std::sort(near.begin(), near.end());
  std::vector<std::string> nearest;
  for (size_t i = 0; i < near.size() && i < 3; ++i) nearest.push_back(near[i].second);
  return nearest;
}

std::string DidYouMean(const std::string& name, const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& near : Nearest(name, names)) {
    text += (text.empty() ? "; did you mean " : " or ") + near;
  }
  return text.empty() ? text : text + "?";
}

}  // namespace natsl::cli
