// The calling thread's scratch memory.
#include "kernels/cpu/mixer_scratch.h"

#include <hwy/aligned_allocator.h>

namespace natsl::kernels {

float* ThreadScratch(int64_t count) {
  thread_local hwy::AlignedFreeUniquePtr<float[]> memory;
  thread_local int64_t capacity = 0;
  if (count > capacity) {
    memory = hwy::AllocateAligned<float>(static_cast<size_t>(count));
    capacity = count;
  }
  return memory.get();
}

}  // namespace natsl::kernels
