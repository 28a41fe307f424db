// Inputs a little different from given ones, for tests that can't wait for libFuzzer.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace natsl::fuzz {

/// `input` after one to four changes that `random` draws: bits, bytes, pieces cut, doubled or taken
/// from `other`, and, in text, numbers and words replaced by unlikely ones.
std::string Mutate(std::string_view input, std::string_view other, std::mt19937_64& random);

}  // namespace natsl::fuzz
