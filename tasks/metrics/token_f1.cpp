// F1 of two bags of words.
#include "tasks/metrics/token_f1.h"

#include <algorithm>
#include <string_view>
#include <vector>

namespace natsl::tasks::metrics {

int64_t CommonTokens(std::span<const std::string> left, std::span<const std::string> right) {
  std::vector<std::string_view> a(left.begin(), left.end()), b(right.begin(), right.end());
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  int64_t common = 0;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const int order = a[i].compare(b[j]);
    if (order == 0) ++common;
    if (order <= 0) ++i;
    if (order >= 0) ++j;
  }
  return common;
}

double TokenF1(std::span<const std::string> prediction, std::span<const std::string> reference) {
  const int64_t common = CommonTokens(prediction, reference);
  if (common == 0) return 0;
  const double precision = static_cast<double>(common) / static_cast<double>(prediction.size());
  const double recall = static_cast<double>(common) / static_cast<double>(reference.size());
  return (2 * precision * recall) / (precision + recall);
}

}  // namespace natsl::tasks::metrics
