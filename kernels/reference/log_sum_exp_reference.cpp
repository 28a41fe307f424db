// The definition of log_sum_exp: argument checks and the sum in double precision.
#include <algorithm>
#include <cmath>

#include "kernels/log_sum_exp.h"
#include "kernels/require.h"

namespace natsl::kernels {

void Validate(const LogSumExpArgs& args) {
  Require(args.rows >= 0, "log_sum_exp: rows is {}, expected >= 0", args.rows);
  Require(args.width > 0, "log_sum_exp: width is {}, expected > 0", args.width);
  if (args.rows == 0) return;
  Require(args.x != nullptr, "log_sum_exp: x is null");
  Require(args.argmax != nullptr, "log_sum_exp: argmax is null");
  Require(args.log_sum != nullptr, "log_sum_exp: log_sum is null");
  Require(args.rows == 1 || args.x_stride >= args.width,
          "log_sum_exp: x_stride is {}, expected >= width = {}", args.x_stride, args.width);
}

void RunLogSumExpReference(const LogSumExpArgs& args) {
  for (int64_t r = 0; r < args.rows; ++r) {
    const float* const row = args.x + r * args.x_stride;
    const float* const top = std::max_element(row, row + args.width);
    double sum = 0;
    for (int64_t i = 0; i < args.width; ++i) {
      sum += std::exp(static_cast<double>(row[i]) - static_cast<double>(*top));
    }
    args.argmax[r] = top - row;
    args.log_sum[r] = static_cast<double>(*top) + std::log(sum);
  }
}

}  // namespace natsl::kernels
