// Python's random.Random for integer seeds: the same numbers, bit by bit, as CPython 3.11.
// (MT19937 seeded by init_by_array; std::mt19937(seed) is another stream.)
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace natsl::core::statistics {

constexpr int kMersenneSize = 624;

/// State of MT19937 after init_by_array with the little-endian 32-bit words of `seed`.
std::array<uint32_t, kMersenneSize> SeedMersenne(uint64_t seed);

class PythonRandom {
 public:
  explicit PythonRandom(uint64_t seed) : state_(SeedMersenne(seed)) {}

  uint32_t NextU32();
  /// random(): [0, 1) with 53 bits.
  double NextDouble();
  /// getrandbits(bits), 1 <= bits <= 32.
  uint32_t Bits(int bits) { return NextU32() >> (32 - bits); }
  /// Uniform in [0, n), 1 <= n < 2^32: rejection on getrandbits.
  int64_t Below(int64_t n);
  /// sample(range(n), k), 0 <= k <= n: indices in draw order.
  std::vector<int64_t> Sample(int64_t n, int64_t k);
  /// choices(range(n), k=k): indices in draw order.
  std::vector<int64_t> Choices(int64_t n, int64_t k);
  /// shuffle(list(range(n))).
  std::vector<int64_t> Shuffled(int64_t n);

 private:
  void Refill();

  std::array<uint32_t, kMersenneSize> state_;
  int next_ = kMersenneSize;
};

}  // namespace natsl::core::statistics
