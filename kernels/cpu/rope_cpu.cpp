// The rotary embedding on the processor: tokens over all cores.
#include <cmath>

#include "kernels/rope.h"

namespace natsl::kernels {

void RunRopeCpu(const RopeArgs& args) {
  const int64_t half = args.dims / 2;
#pragma omp parallel for schedule(static)
  for (int64_t t = 0; t < args.tokens; ++t) {
    float* row = static_cast<float*>(args.x) + t * args.x_stride;
    for (int64_t i = 0; i < half; ++i) {
      const float angle = static_cast<float>(args.positions[t]) * args.inverse_frequencies[i];
      const auto cosine = static_cast<float>(std::cos(static_cast<double>(angle)));
      const auto sine = static_cast<float>(std::sin(static_cast<double>(angle)));
      for (int64_t head = 0; head < args.heads; ++head) {
        float* pair = row + head * args.head_dim + i;
        const float first = pair[0] * args.attention_factor;
        const float second = pair[half] * args.attention_factor;
        pair[0] = first * cosine - second * sine;
        pair[half] = first * sine + second * cosine;
      }
    }
  }
}

}  // namespace natsl::kernels
