// The walk over chunks of linear attention with a vector decay.
#include "kernels/cuda/chunk_walk.cuh"

namespace natsl::kernels::cuda {

void RunWalkVector(const Chunked& a, bool outputs, cudaStream_t stream) {
  if (a.key_dim == 128) {
    outputs ? LaunchWalk<128, false, true, true>(a, stream)
            : LaunchWalk<128, false, true, false>(a, stream);
  } else {
    outputs ? LaunchWalk<256, false, true, true>(a, stream)
            : LaunchWalk<256, false, true, false>(a, stream);
  }
}

}  // namespace natsl::kernels::cuda
