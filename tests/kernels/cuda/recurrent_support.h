// What the tests of the recurrent mixers on the device share: packed batches, states in slots.
#pragma once

#include "tests/kernels/cuda/cuda_support.h"

namespace natsl::kernels::cuda::testing {

inline std::vector<int64_t> Offsets(const std::vector<int64_t>& lengths) {
  std::vector<int64_t> offsets = {0};
  for (const int64_t length : lengths) offsets.push_back(offsets.back() + length);
  return offsets;
}

// States of `sequences` in slots: sequence s reads slot 2s and writes slot 2s+1, then they swap.
struct Slots {
  explicit Slots(int64_t sequences, bool swapped = false) {
    for (int32_t s = 0; s < sequences; ++s) {
      even.push_back(2 * s);
      odd.push_back(2 * s + 1);
    }
    read = std::make_unique<Array<int32_t>>(swapped ? odd : even);
    write = std::make_unique<Array<int32_t>>(swapped ? even : odd);
  }
  StateSlots get() const { return {read->data(), write->data()}; }
  std::vector<int32_t> even, odd;
  std::unique_ptr<Array<int32_t>> read, write;
};

/// A kind of state of a batch's sequences, `before` it: the definition's, and the device's in
/// slots.
class States {
 public:
  explicit States(const std::vector<Floats>& before)
      : end_(before),
        pointers_(kernels::testing::Pointers(end_)),
        device_(InEvenSlots(before)),
        size_(static_cast<int64_t>(before[0].size())) {}

  float* const* reference() const { return pointers_.data(); }
  float* device() const { return device_.data(); }

  /// Sequence s's state in its slot (2s, or 2s + 1 where `odd`) is what the definition left.
  void Expect(int64_t s, bool odd, double tolerance, const std::string& what) const {
    const Floats all = device_.Values();
    const auto at = all.begin() + (2 * s + (odd ? 1 : 0)) * size_;
    ExpectNear(Floats(at, at + size_), end_[static_cast<size_t>(s)], tolerance,
               what + " of sequence " + std::to_string(s));
  }

 private:
  static Floats InEvenSlots(const std::vector<Floats>& states) {
    Floats all;
    for (const Floats& state : states) {
      all.insert(all.end(), state.begin(), state.end());
      all.insert(all.end(), state.size(), NAN);
    }
    return all;
  }

  std::vector<Floats> end_;
  std::vector<float*> pointers_;
  Array<float> device_;
  int64_t size_;
};

}  // namespace natsl::kernels::cuda::testing
