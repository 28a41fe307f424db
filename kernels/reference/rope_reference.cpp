// The definition of the rotary embedding: argument checks and the rotation in double precision.
// The angle itself is a float32 product, as in the models' own code.
#include <cmath>

#include "kernels/require.h"
#include "kernels/rope.h"

namespace natsl::kernels {

void Validate(const RopeArgs& args) {
  Require(args.dtype == DType::kFloat32 || args.dtype == DType::kBFloat16,
          "rope: dtype is {}, expected float32 or bfloat16", core::Name(args.dtype));
  Require(args.tokens >= 0, "rope: tokens is {}, expected >= 0", args.tokens);
  Require(args.heads >= 1, "rope: heads is {}, expected >= 1", args.heads);
  Require(args.head_dim >= 1, "rope: head_dim is {}, expected >= 1", args.head_dim);
  Require(args.dims >= 0 && args.dims % 2 == 0 && args.dims <= args.head_dim,
          "rope: dims is {}, expected an even number up to head_dim = {}", args.dims,
          args.head_dim);
  if (args.tokens == 0 || args.dims == 0) return;
  Require(args.x != nullptr, "rope: x is null");
  Require(args.positions != nullptr, "rope: positions is null");
  Require(args.inverse_frequencies != nullptr, "rope: inverse_frequencies is null");
  Require(args.tokens == 1 || args.x_stride >= args.heads * args.head_dim,
          "rope: x_stride is {}, expected >= heads * head_dim = {}", args.x_stride,
          args.heads * args.head_dim);
}

void RunRopeReference(const RopeArgs& args) {
  auto* x = static_cast<float*>(args.x);
  const int64_t half = args.dims / 2;
  for (int64_t t = 0; t < args.tokens; ++t) {
    for (int64_t i = 0; i < half; ++i) {
      const float angle = static_cast<float>(args.positions[t]) * args.inverse_frequencies[i];
      const double cosine = std::cos(static_cast<double>(angle)) * args.attention_factor;
      const double sine = std::sin(static_cast<double>(angle)) * args.attention_factor;
      for (int64_t head = 0; head < args.heads; ++head) {
        float* row = x + t * args.x_stride + head * args.head_dim;
        const double first = row[i];
        const double second = row[i + half];
        row[i] = static_cast<float>(first * cosine - second * sine);
        row[i + half] = static_cast<float>(first * sine + second * cosine);
      }
    }
  }
}

}  // namespace natsl::kernels
