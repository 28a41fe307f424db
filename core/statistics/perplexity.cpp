// Perplexities and bits per byte.
#include "core/statistics/perplexity.h"

#include <cmath>

#include "core/statistics/descriptive.h"

namespace natsl::core::statistics {
namespace {

Estimate ExpOfLoss(double loss) {
  const double value = std::exp(loss);
  if (std::isinf(value) && std::isfinite(loss)) {
    return Estimate::None("the perplexity overflows a double");
  }
  return value;
}

}  // namespace

Estimate Perplexity(std::span<const double> log_probs) {
  if (log_probs.empty()) return Estimate::None("the perplexity of no documents");
  return ExpOfLoss(-(Sum(log_probs) / static_cast<double>(log_probs.size())));
}

Estimate WeightedMean(std::span<const Weighted> items) {
  if (items.empty()) return Estimate::None("the weighted mean of no documents");
  double sum = 0, count = 0;
  for (const Weighted& item : items) {
    sum += item.sum;
    count += item.count;
  }
  if (count == 0) return Estimate::None("the weighted mean of documents that count nothing");
  return sum / count;
}

Estimate WeightedPerplexity(std::span<const Weighted> items) {
  const Estimate mean = WeightedMean(items);
  return mean.has_value() ? ExpOfLoss(-mean.value()) : mean;
}

Estimate BitsPerByte(std::span<const Weighted> items) {
  const Estimate mean = WeightedMean(items);
  if (!mean.has_value()) return mean;
  return -mean.value() / std::log(2.0);
}

}  // namespace natsl::core::statistics
