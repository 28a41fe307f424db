// F1 of two bags of words, shared by SQuAD's and LongBench's question answering.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace natsl::tasks::metrics {

/// Size of the multiset intersection.
int64_t CommonTokens(std::span<const std::string> left, std::span<const std::string> right);

/// 2PR / (P + R) with P = common / |prediction|, R = common / |reference|; 0 where nothing is
/// common.
double TokenF1(std::span<const std::string> prediction, std::span<const std::string> reference);

}  // namespace natsl::tasks::metrics
