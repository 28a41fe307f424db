// The calling thread's scratch memory: one block, for its huge pages.
#include "kernels/cpu/mixer_scratch.h"

#include <new>

#include "core/block_memory.h"

namespace natsl::kernels {
namespace {

core::BlockMemory& Blocks() {
  static auto* const blocks = new core::BlockMemory;  // threads may outlive static objects
  return *blocks;
}

class Memory {
 public:
  Memory() = default;
  ~Memory() {
    if (data_ != nullptr) Blocks().Free(data_);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  float* Reserve(size_t count) {
    if (count > capacity_) {
      if (data_ != nullptr) Blocks().Free(data_);
      capacity_ = 0;
      data_ = static_cast<float*>(Blocks().Allocate(count * sizeof(float)));
      if (data_ == nullptr) throw std::bad_alloc();
      capacity_ = count;
    }
    return data_;
  }

 private:
  float* data_ = nullptr;
  size_t capacity_ = 0;
};

}  // namespace

float* ThreadScratch(int64_t count) {
  thread_local Memory memory;
  return memory.Reserve(static_cast<size_t>(count));
}

}  // namespace natsl::kernels
