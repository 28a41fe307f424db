// gemv on the processor: rows of the weight over all cores.
#include "kernels/gemv.h"
#include "kernels/reference/widen.h"
#include "kernels/require.h"

namespace natsl::kernels {

void RunGemvCpu(const GemvArgs& args) {
#pragma omp parallel for schedule(static)
  for (int64_t column = 0; column < args.n; ++column) {
    for (int64_t row = 0; row < args.m; ++row) {
      float sum = 0;
      for (int64_t i = 0; i < args.k; ++i) {
        sum +=
            args.x[row * args.x_stride + i] *
            static_cast<float>(WidenElement(args.weight, args.weight_dtype, column * args.k + i));
      }
      args.y[row * args.y_stride + column] =
          sum + (args.bias != nullptr ? args.bias[column] : 0.0F);
    }
  }
}

void ConvertToFloat32(const void* source, DType dtype, float* target, int64_t count) {
  Require(dtype == DType::kBFloat16 || dtype == DType::kFloat16,
          "convert: dtype is {}, expected bfloat16 or float16", core::Name(dtype));
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < count; ++i) {
    target[i] = static_cast<float>(WidenElement(source, dtype, i));
  }
}

}  // namespace natsl::kernels
