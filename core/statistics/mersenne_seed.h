// The state that Python's random.Random(seed) starts from, for code that runs MT19937 itself
// (core/python_random.h has the generator for everything else).
#pragma once

#include <array>
#include <cstdint>

namespace natsl::core::statistics {

constexpr int kMersenneSize = 624;

/// MT19937 after init_by_array with the little-endian 32-bit words of `seed`.
std::array<uint32_t, kMersenneSize> SeedMersenne(uint64_t seed);

}  // namespace natsl::core::statistics
