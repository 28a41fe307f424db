// y[M, N] = x[M, K] W[N, K]^T (+ bias) for many rows M in the processor's matrix tiles: the dense
// products of a prefill, where a processor has such tiles; elsewhere a BLAS is the faster way.
//
// Results are as good as those of float32 multiply-adds: operands are cut in bfloat16 pieces
// without loss, and what is left out of the products of pieces is below 2^-21 of the product. The
// tiles take subnormals for zero, so what is below 2^-126 is lost. A row of y depends on nothing
// but its row of x and the weight.
#pragma once

#include "kernels/gemv.h"

namespace natsl::kernels {

/// Whether this processor has matrix tiles that this process may use.
bool MatmulUsable();

/// `args` as Validate(GemvArgs) wants them; weights are kFloat32 or kBFloat16. Call only where
/// MatmulUsable().
void RunMatmulCpu(const GemvArgs& args);

}  // namespace natsl::kernels
