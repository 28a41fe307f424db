// Seeds of the data streams.
#include "training/data/stream.h"

namespace natsl::training {
namespace {

/// SplitMix64's finaliser.
uint64_t Mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

uint64_t Absorb(uint64_t state, uint64_t value) {
  return Mix(state + 0x9E3779B97F4A7C15u + Mix(value + 0x9E3779B97F4A7C15u));
}

}  // namespace

uint64_t StreamSeed(StreamDomain domain, uint64_t seed, int64_t rank, int64_t step, int64_t row) {
  uint64_t state = Absorb(0x6E6174736C747261u, static_cast<uint64_t>(domain));
  state = Absorb(state, seed);
  state = Absorb(state, static_cast<uint64_t>(rank));
  state = Absorb(state, static_cast<uint64_t>(step));
  state = Absorb(state, static_cast<uint64_t>(row));
  return state | (uint64_t{1} << 63);
}

}  // namespace natsl::training
