// The memory of LibTorch's CPU tensors: large ones live in core::BlockMemory. LibTorch's own
// allocator takes each from the system and gives it back, and a pass over a few thousand tokens
// then spends a fifth of its time in page faults and more of it in walks of page tables.
#pragma once

namespace natsl::model_adapters::native {

/// The first one makes it the memory of every CPU tensor of the process from then on (not under
/// AddressSanitizer, which watches the system's allocator only). What no tensor uses goes back to
/// the system with it: a model holds one.
class TensorMemory {
 public:
  TensorMemory();
  ~TensorMemory();
  TensorMemory(const TensorMemory&) = delete;
  TensorMemory& operator=(const TensorMemory&) = delete;
  /// Gives what no tensor uses back now.
  void ReleaseSpare();
};

}  // namespace natsl::model_adapters::native
