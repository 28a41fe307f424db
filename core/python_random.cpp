// The generators of CPython's `random` and of NumPy's legacy global state.
#include "core/python_random.h"

#include <array>
#include <bit>
#include <cmath>
#include <sstream>
#include <unordered_set>

#include "core/error.h"

namespace natsl::core {
namespace {

/// MT19937 seeded by an array of 32-bit keys (Matsumoto and Nishimura's init_by_array), which the
/// standard engine can't do: its state is set through its text form.
std::mt19937 SeedByArray(std::span<const uint32_t> key) {
  constexpr size_t kN = 624;
  std::array<uint32_t, kN> state{};
  state[0] = 19650218u;
  for (uint32_t i = 1; i < kN; ++i) {
    state[i] = 1812433253u * (state[i - 1] ^ (state[i - 1] >> 30)) + i;
  }
  size_t i = 1, j = 0;
  const auto advance = [&] {
    if (++i < kN) return;
    state[0] = state[kN - 1];
    i = 1;
  };
  for (size_t n = std::max(kN, key.size()); n > 0; --n) {
    state[i] = (state[i] ^ ((state[i - 1] ^ (state[i - 1] >> 30)) * 1664525u)) + key[j] +
               static_cast<uint32_t>(j);
    advance();
    if (++j == key.size()) j = 0;
  }
  for (size_t n = kN - 1; n > 0; --n) {
    state[i] = (state[i] ^ ((state[i - 1] ^ (state[i - 1] >> 30)) * 1566083941u)) -
               static_cast<uint32_t>(i);
    advance();
  }
  state[0] = 0x80000000u;
  std::stringstream text;
  for (const uint32_t word : state) text << word << ' ';
  text << kN;  // the position: all words are used up, the next draw makes new ones
  std::mt19937 engine;
  text >> engine;
  return engine;
}

}  // namespace

PythonRandom::PythonRandom(uint64_t seed) {
  const std::array<uint32_t, 2> key = {static_cast<uint32_t>(seed),
                                       static_cast<uint32_t>(seed >> 32)};
  engine_ = SeedByArray(std::span(key).first(key[1] == 0 ? 1 : 2));
}

double PythonRandom::Random() {
  const uint32_t a = NextU32() >> 5;
  const uint32_t b = NextU32() >> 6;
  return (a * 67108864.0 + b) / 9007199254740992.0;
}

uint64_t PythonRandom::GetRandBits(int bits) {
  if (bits <= 32) return NextU32() >> (32 - bits);
  const uint64_t low = NextU32();
  return low | (static_cast<uint64_t>(NextU32() >> (64 - bits)) << 32);
}

int64_t PythonRandom::RandBelow(int64_t n) {
  const int bits = static_cast<int>(std::bit_width(static_cast<uint64_t>(n)));
  uint64_t value = GetRandBits(bits);
  while (value >= static_cast<uint64_t>(n)) value = GetRandBits(bits);
  return static_cast<int64_t>(value);
}

std::vector<int64_t> PythonRandom::Sample(int64_t n, int64_t k) {
  if (k < 0 || k > n) throw InternalError("sample of {} from {} items", k, n);
  // Python keeps a pool where that takes less memory than a set of the chosen ones would.
  int64_t pool_limit = 21;
  if (k > 5) {
    const double power = std::ceil(std::log(static_cast<double>(k) * 3) / std::log(4.0));
    pool_limit += static_cast<int64_t>(std::pow(4.0, power));
  }
  std::vector<int64_t> chosen;
  chosen.reserve(static_cast<size_t>(k));
  if (n <= pool_limit) {
    std::vector<int64_t> pool(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) pool[static_cast<size_t>(i)] = i;
    for (int64_t i = 0; i < k; ++i) {
      const auto j = static_cast<size_t>(RandBelow(n - i));
      chosen.push_back(pool[j]);
      pool[j] = pool[static_cast<size_t>(n - i - 1)];
    }
    return chosen;
  }
  std::unordered_set<int64_t> seen;
  for (int64_t i = 0; i < k; ++i) {
    int64_t j = RandBelow(n);
    while (!seen.insert(j).second) j = RandBelow(n);
    chosen.push_back(j);
  }
  return chosen;
}

std::vector<int64_t> PythonRandom::Choices(int64_t n, int64_t k) {
  std::vector<int64_t> chosen;
  chosen.reserve(static_cast<size_t>(k));
  for (int64_t i = 0; i < k; ++i) {
    chosen.push_back(static_cast<int64_t>(std::floor(Random() * static_cast<double>(n))));
  }
  return chosen;
}

std::string PythonRandom::Uuid4() {
  // 128 bits, least significant word first; then the version and variant bits of RFC 4122.
  uint64_t low = GetRandBits(64);
  uint64_t high = GetRandBits(64);
  low = (low & ~(uint64_t{0xC000} << 48)) | (uint64_t{0x8000} << 48);
  high = (high & ~uint64_t{0xF000}) | (uint64_t{4} << 12);
  return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", high >> 32, (high >> 16) & 0xFFFF,
                     high & 0xFFFF, low >> 48, low & 0xFFFFFFFFFFFF);
}

int64_t NumpyLegacyRandom::RandInt(int64_t low, int64_t high) {
  const auto range = static_cast<uint32_t>(high - 1 - low);
  if (range == 0) return low;
  const uint32_t mask = std::bit_ceil(range) == range ? range * 2 - 1 : std::bit_ceil(range) - 1;
  uint32_t value = NextU32() & mask;
  while (value > range) value = NextU32() & mask;
  return low + value;
}

}  // namespace natsl::core
