// A c10::Allocator over core::BlockMemory.
#include "model_adapters/native/tensor_memory.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/alloc_cpu.h>

#include "core/block_memory.h"

namespace natsl::model_adapters::native {
namespace {

/// Never destroyed: tensors of static lifetime may outlive everything else.
core::BlockMemory& Blocks() {
  static auto* const blocks = new core::BlockMemory;
  return *blocks;
}

void FreeTensor(void* data) {
  if (data != nullptr && !Blocks().Free(data)) c10::free_cpu(data);
}

class TensorAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    void* data = nullptr;
    if (bytes >= core::BlockMemory::kLeastBytes) data = Blocks().Allocate(bytes);
    // The system has the last word, and LibTorch the error that names the size.
    if (data == nullptr) data = c10::alloc_cpu(bytes);
    return {data, data, &FreeTensor, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &FreeTensor; }
  void copy_data(void* to, const void* from, size_t count) const override {
    default_copy_data(to, from, count);
  }
};

}  // namespace

TensorMemory::TensorMemory() {
#if !defined(__SANITIZE_ADDRESS__)
  [[maybe_unused]] static const bool used = [] {
    // Of a higher priority than LibTorch's own; the allocator lives as long as the process.
    c10::SetCPUAllocator(new TensorAllocator, 1);
    return true;
  }();
#endif
}

TensorMemory::~TensorMemory() { ReleaseSpare(); }

void TensorMemory::ReleaseSpare() { Blocks().ReleaseKept(); }

}  // namespace natsl::model_adapters::native
