// The walk over chunks of linear attention with a scalar decay.
#include "kernels/cuda/chunk_walk.cuh"

namespace natsl::kernels::cuda {

void RunWalkScalar(const Chunked& a, bool outputs, cudaStream_t stream) {
  if (a.key_dim == 128) {
    outputs ? LaunchWalk<128, false, false, true>(a, stream)
            : LaunchWalk<128, false, false, false>(a, stream);
  } else {
    outputs ? LaunchWalk<256, false, false, true>(a, stream)
            : LaunchWalk<256, false, false, false>(a, stream);
  }
}

}  // namespace natsl::kernels::cuda
