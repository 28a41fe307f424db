// The delta rule's walk over chunks.
#include "kernels/cuda/chunk_walk.cuh"

namespace natsl::kernels::cuda {

void RunWalkDelta(const Chunked& a, bool outputs, cudaStream_t stream) {
  if (a.key_dim == 128) {
    outputs ? LaunchWalk<128, true, false, true>(a, stream)
            : LaunchWalk<128, true, false, false>(a, stream);
  } else {
    outputs ? LaunchWalk<192, true, false, true>(a, stream)
            : LaunchWalk<192, true, false, false>(a, stream);
  }
}

}  // namespace natsl::kernels::cuda
