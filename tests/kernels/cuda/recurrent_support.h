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

inline Floats InEvenSlots(const std::vector<Floats>& states) {
  Floats all;
  for (const Floats& state : states) {
    all.insert(all.end(), state.begin(), state.end());
    all.insert(all.end(), state.size(), NAN);
  }
  return all;
}

}  // namespace natsl::kernels::cuda::testing
