// The definition of gemv: argument checks and the product in double precision.
#include "kernels/gemv.h"
#include "kernels/reference/widen.h"
#include "kernels/require.h"

namespace natsl::kernels {

void Validate(const GemvArgs& args) {
  Require(args.m >= 0 && args.n >= 0 && args.k >= 0,
          "gemv: sizes are m {}, n {}, k {}, expected all >= 0", args.m, args.n, args.k);
  Require(args.weight_dtype == DType::kFloat32 || args.weight_dtype == DType::kBFloat16 ||
              args.weight_dtype == DType::kFloat16,
          "gemv: weight_dtype is {}, expected float32, bfloat16 or float16",
          core::Name(args.weight_dtype));
  if (args.m == 0 || args.n == 0) return;
  Require(args.y != nullptr, "gemv: y is null");
  Require(args.m == 1 || args.y_stride >= args.n, "gemv: y_stride is {}, expected >= n = {}",
          args.y_stride, args.n);
  if (args.k == 0) return;
  Require(args.x != nullptr, "gemv: x is null");
  Require(args.weight != nullptr, "gemv: weight is null");
  Require(args.m == 1 || args.x_stride >= args.k, "gemv: x_stride is {}, expected >= k = {}",
          args.x_stride, args.k);
}

void RunGemvReference(const GemvArgs& args) {
  for (int64_t row = 0; row < args.m; ++row) {
    for (int64_t column = 0; column < args.n; ++column) {
      double sum = args.bias != nullptr ? args.bias[column] : 0.0;
      for (int64_t i = 0; i < args.k; ++i) {
        sum += static_cast<double>(args.x[row * args.x_stride + i]) *
               WidenElement(args.weight, args.weight_dtype, column * args.k + i);
      }
      args.y[row * args.y_stride + column] = static_cast<float>(sum);
    }
  }
}

}  // namespace natsl::kernels
