// Seeding MT19937 as CPython does.
#include "core/statistics/mersenne_seed.h"

#include <cstddef>

namespace natsl::core::statistics {

std::array<uint32_t, kMersenneSize> SeedMersenne(uint64_t seed) {
  std::array<uint32_t, kMersenneSize> state{};
  state[0] = 19650218U;
  for (uint32_t i = 1; i < kMersenneSize; ++i) {
    state[i] = 1812433253U * (state[i - 1] ^ (state[i - 1] >> 30)) + i;
  }
  const std::array<uint32_t, 2> key = {static_cast<uint32_t>(seed),
                                       static_cast<uint32_t>(seed >> 32)};
  const std::size_t key_length = key[1] != 0 ? 2 : 1;
  std::size_t i = 1;
  std::size_t j = 0;
  const auto wrap = [&] {
    if (++i >= kMersenneSize) {
      state[0] = state[kMersenneSize - 1];
      i = 1;
    }
  };
  for (int step = 0; step < kMersenneSize; ++step) {
    state[i] = (state[i] ^ ((state[i - 1] ^ (state[i - 1] >> 30)) * 1664525U)) + key[j] +
               static_cast<uint32_t>(j);
    wrap();
    if (++j >= key_length) j = 0;
  }
  for (int step = 0; step < kMersenneSize - 1; ++step) {
    state[i] = (state[i] ^ ((state[i - 1] ^ (state[i - 1] >> 30)) * 1566083941U)) -
               static_cast<uint32_t>(i);
    wrap();
  }
  state[0] = 0x80000000U;
  return state;
}

}  // namespace natsl::core::statistics
