// The generators of CPython's `random` and of NumPy's legacy global state, bit for bit: the
// reference harnesses draw few-shot examples, needles and bootstrap replicates with them.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace natsl::core {

/// CPython's random.Random(seed) for a non-negative integer seed. Copy to save the state.
class PythonRandom {
 public:
  explicit PythonRandom(uint64_t seed);

  uint32_t NextU32() { return static_cast<uint32_t>(engine_()); }
  double Random();                              ///< random(): [0, 1) with 53 bits
  uint64_t GetRandBits(int bits);               ///< getrandbits(bits), 1 <= bits <= 64
  int64_t RandBelow(int64_t n);                 ///< [0, n), n >= 1
  int64_t RandInt(int64_t low, int64_t high) {  ///< randint: both ends included
    return low + RandBelow(high - low + 1);
  }
  /// sample(range(n), k): k distinct indices in the order drawn. k > n is an Error (internal).
  std::vector<int64_t> Sample(int64_t n, int64_t k);
  /// choices(range(n), k=k).
  std::vector<int64_t> Choices(int64_t n, int64_t k);
  /// uuid.UUID(int=getrandbits(128), version=4) as text.
  std::string Uuid4();

  template <typename T>
  void Shuffle(std::vector<T>& items) {
    for (int64_t i = static_cast<int64_t>(items.size()) - 1; i > 0; --i) {
      std::swap(items[static_cast<size_t>(i)], items[static_cast<size_t>(RandBelow(i + 1))]);
    }
  }

 private:
  std::mt19937 engine_;
};

/// numpy.random.seed(seed) and numpy.random.randint(low, high) (high excluded).
class NumpyLegacyRandom {
 public:
  explicit NumpyLegacyRandom(uint32_t seed) : engine_(seed) {}

  uint32_t NextU32() { return static_cast<uint32_t>(engine_()); }
  int64_t RandInt(int64_t low, int64_t high);

 private:
  std::mt19937 engine_;
};

}  // namespace natsl::core
