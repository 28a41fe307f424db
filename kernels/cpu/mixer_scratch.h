// The calling thread's scratch memory: aligned, reused from call to call, never shrunk.
#pragma once

#include <cstdint>

namespace natsl::kernels {

/// At least `count` floats, 64-byte aligned, with unspecified content. A later call on the same
/// thread invalidates the pointer.
float* ThreadScratch(int64_t count);

/// Hands out parts of one ThreadScratch, each 64-byte aligned. The parts of
/// `layout(Scratch&)` are counted, then taken.
class Scratch {
 public:
  template <typename Layout>
  static void Fill(const Layout& layout) {
    Scratch scratch;
    layout(scratch);
    scratch.base_ = ThreadScratch(scratch.used_);
    scratch.used_ = 0;
    layout(scratch);
  }

  /// `count` floats; null while counting.
  float* Take(int64_t count) {
    float* const taken = base_ == nullptr ? nullptr : base_ + used_;
    used_ += (count + 15) / 16 * 16;
    return taken;
  }

 private:
  Scratch() = default;
  float* base_ = nullptr;
  int64_t used_ = 0;
};

}  // namespace natsl::kernels
