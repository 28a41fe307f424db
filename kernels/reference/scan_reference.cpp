// The gated scan's definition in double precision, float32 activations.
#include <cmath>

#include "core/check.h"
#include "kernels/scan.h"

namespace natsl::kernels {

void RunScanReference(const ScanArgs& args) {
  NATSL_CHECK(args.dtype == DType::kFloat32);
  const auto* x = static_cast<const float*>(args.x);
  auto* o = static_cast<float*>(args.o);
  for (int64_t s = 0; s < args.sequences; ++s) {
    if (args.offsets[s] == args.offsets[s + 1]) continue;
    for (int64_t c = 0; c < args.channels; ++c) {
      double state = args.states[s][c];
      for (int64_t t = args.offsets[s]; t < args.offsets[s + 1]; ++t) {
        const int64_t at = t * args.channels + c;
        state = std::exp(static_cast<double>(args.g[at])) * state + x[at];
        o[at] = static_cast<float>(state);
      }
      args.states[s][c] = static_cast<float>(state);
    }
  }
}

}  // namespace natsl::kernels
