// The assignment problem: which pairing of rows with columns has the largest sum.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace natsl::tasks::metrics {

/// `scores`: rows x columns, row-major, finite. For each row its column in a 1-1 pairing of
/// min(rows, columns) pairs with the largest sum, or -1 (Hungarian method, O(n^3)).
std::vector<int64_t> MaximumAssignment(std::span<const double> scores, size_t rows, size_t columns);

}  // namespace natsl::tasks::metrics
