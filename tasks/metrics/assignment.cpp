// The Hungarian method with potentials, by shortest augmenting paths.
#include "tasks/metrics/assignment.h"

#include <limits>

namespace natsl::tasks::metrics {
namespace {

/// Minimum-cost pairing for rows <= columns; cost(r, c). Returns the column of each row.
template <typename Cost>
std::vector<size_t> Minimum(size_t rows, size_t columns, const Cost& cost) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr size_t kNone = static_cast<size_t>(-1);
  std::vector<double> row_potential(rows), column_potential(columns + 1);
  std::vector<size_t> row_of(columns + 1, kNone);  // the last column is the start of a path
  for (size_t row = 0; row < rows; ++row) {
    std::vector<double> distance(columns, kInfinity);
    std::vector<size_t> previous(columns, columns);
    std::vector<bool> visited(columns + 1, false);
    size_t column = columns;
    row_of[columns] = row;
    while (row_of[column] != kNone) {
      visited[column] = true;
      const size_t current = row_of[column];
      double step = kInfinity;
      size_t next = columns;
      for (size_t c = 0; c < columns; ++c) {
        if (visited[c]) continue;
        const double reduced = cost(current, c) - row_potential[current] - column_potential[c];
        if (reduced < distance[c]) {
          distance[c] = reduced;
          previous[c] = column;
        }
        if (distance[c] < step) {
          step = distance[c];
          next = c;
        }
      }
      for (size_t c = 0; c <= columns; ++c) {
        if (visited[c]) {
          row_potential[row_of[c]] += step;
          column_potential[c] -= step;
        } else if (c < columns) {
          distance[c] -= step;
        }
      }
      column = next;
    }
    while (column != columns) {
      row_of[column] = row_of[previous[column]];
      column = previous[column];
    }
  }
  std::vector<size_t> column_of(rows);
  for (size_t c = 0; c < columns; ++c) {
    if (row_of[c] != kNone) column_of[row_of[c]] = c;
  }
  return column_of;
}

}  // namespace

std::vector<int64_t> MaximumAssignment(std::span<const double> scores, size_t rows,
                                       size_t columns) {
  std::vector<int64_t> result(rows, -1);
  if (rows <= columns) {
    const auto column_of =
        Minimum(rows, columns, [&](size_t r, size_t c) { return -scores[r * columns + c]; });
    for (size_t r = 0; r < rows; ++r) result[r] = static_cast<int64_t>(column_of[r]);
  } else {
    const auto row_of =
        Minimum(columns, rows, [&](size_t c, size_t r) { return -scores[r * columns + c]; });
    for (size_t c = 0; c < columns; ++c) result[row_of[c]] = static_cast<int64_t>(c);
  }
  return result;
}

}  // namespace natsl::tasks::metrics
