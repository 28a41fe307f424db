// MT19937 as CPython seeds and reads it.
#include "core/statistics/python_random.h"

#include <bit>
#include <numeric>
#include <unordered_set>
#include <utility>

#include "core/check.h"

namespace natsl::core::statistics {
namespace {

constexpr int kShift = 397;
constexpr uint32_t kUpperBit = 0x80000000U;
constexpr uint32_t kLowerBits = 0x7FFFFFFFU;
constexpr uint32_t kMatrix = 0x9908B0DFU;

uint32_t Twist(uint32_t high, uint32_t low, uint32_t far) {
  const uint32_t mixed = (high & kUpperBit) | (low & kLowerBits);
  return far ^ (mixed >> 1) ^ ((mixed & 1U) != 0 ? kMatrix : 0U);
}

}  // namespace

std::array<uint32_t, kMersenneSize> SeedMersenne(uint64_t seed) {
  std::array<uint32_t, kMersenneSize> state{};
  state[0] = 19650218U;
  for (uint32_t i = 1; i < kMersenneSize; ++i) {
    state[i] = 1812433253U * (state[i - 1] ^ (state[i - 1] >> 30)) + i;
  }
  const std::array<uint32_t, 2> key = {static_cast<uint32_t>(seed),
                                       static_cast<uint32_t>(seed >> 32)};
  const size_t key_length = key[1] != 0 ? 2 : 1;
  size_t i = 1;
  size_t j = 0;
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
  state[0] = kUpperBit;
  return state;
}

void PythonRandom::Refill() {
  for (size_t i = 0; i < kMersenneSize; ++i) {
    state_[i] =
        Twist(state_[i], state_[(i + 1) % kMersenneSize], state_[(i + kShift) % kMersenneSize]);
  }
  next_ = 0;
}

uint32_t PythonRandom::NextU32() {
  if (next_ >= kMersenneSize) Refill();
  uint32_t value = state_[static_cast<size_t>(next_++)];
  value ^= value >> 11;
  value ^= (value << 7) & 0x9D2C5680U;
  value ^= (value << 15) & 0xEFC60000U;
  return value ^ (value >> 18);
}

double PythonRandom::NextDouble() {
  const double high = NextU32() >> 5;
  const double low = NextU32() >> 6;
  return (high * 67108864.0 + low) / 9007199254740992.0;
}

int64_t PythonRandom::Below(int64_t n) {
  NATSL_CHECK(n >= 1 && n < (int64_t{1} << 32));
  const auto bits = static_cast<int>(std::bit_width(static_cast<uint64_t>(n)));
  for (;;) {
    const int64_t value = Bits(bits);
    if (value < n) return value;
  }
}

std::vector<int64_t> PythonRandom::Sample(int64_t n, int64_t k) {
  NATSL_CHECK(0 <= k && k <= n);
  int64_t set_size = 21;
  if (k > 5) {
    int64_t power = 1;
    while (power < 3 * k) power *= 4;
    set_size += power;
  }
  std::vector<int64_t> result;
  result.reserve(static_cast<size_t>(k));
  if (n <= set_size) {
    std::vector<int64_t> pool(static_cast<size_t>(n));
    std::iota(pool.begin(), pool.end(), int64_t{0});
    for (int64_t i = 0; i < k; ++i) {
      const auto j = static_cast<size_t>(Below(n - i));
      result.push_back(pool[j]);
      pool[j] = pool[static_cast<size_t>(n - i - 1)];
    }
    return result;
  }
  std::unordered_set<int64_t> chosen;
  while (static_cast<int64_t>(result.size()) < k) {
    const int64_t j = Below(n);
    if (chosen.insert(j).second) result.push_back(j);
  }
  return result;
}

std::vector<int64_t> PythonRandom::Choices(int64_t n, int64_t k) {
  NATSL_CHECK(n >= 1);
  std::vector<int64_t> result(static_cast<size_t>(k));
  for (int64_t& index : result) {
    index = static_cast<int64_t>(NextDouble() * static_cast<double>(n));
  }
  return result;
}

std::vector<int64_t> PythonRandom::Shuffled(int64_t n) {
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), int64_t{0});
  for (int64_t i = n - 1; i > 0; --i) {
    std::swap(order[static_cast<size_t>(i)], order[static_cast<size_t>(Below(i + 1))]);
  }
  return order;
}

}  // namespace natsl::core::statistics
