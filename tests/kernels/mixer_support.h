// What the tests of the recurrent mixers share: random inputs, pieces of sequences, comparison, and
// the one table of tolerances.
#pragma once

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace natsl::kernels::testing {

using Floats = std::vector<float>;

// Largest allowed difference from the double-precision recurrence, over max(1, largest value).
constexpr double kDeltaRuleTolerance = 2e-5;
constexpr double kLinearAttentionTolerance = 1e-5;
constexpr double kScanTolerance = 2e-6;

/// Lengths around the chunk of 64 and the short pieces below 16.
inline const std::vector<int64_t> kLengths = {0, 1, 15, 16, 63, 64, 65, 131, 1003};

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  float Normal() { return normal_(engine_); }
  float Uniform(float low, float high) {
    return low + (high - low) * static_cast<float>(engine_() >> 40) * 0x1p-24f;
  }
  Floats Normals(int64_t count, float scale = 1) {
    Floats values(static_cast<size_t>(count));
    for (float& value : values) value = scale * Normal();
    return values;
  }
  Floats Uniforms(int64_t count, float low, float high) {
    Floats values(static_cast<size_t>(count));
    for (float& value : values) value = Uniform(low, high);
    return values;
  }

 private:
  std::mt19937_64 engine_;
  std::normal_distribution<float> normal_;
};

/// How strong the log decays of a test are.
enum class Decay { kNone, kWeak, kStrong, kHuge, kMixed };

inline Floats LogDecays(Random& random, int64_t count, Decay decay) {
  Floats values(static_cast<size_t>(count));
  for (float& value : values) {
    const float u = random.Uniform(0, 1);
    switch (decay) {
      case Decay::kNone:
        value = 0;
        break;
      case Decay::kWeak:
        value = -0.1f * u;
        break;
      case Decay::kStrong:
        value = -30 * u;
        break;
      case Decay::kHuge:
        value = -1e4f;
        break;
      case Decay::kMixed:
        value = u < 0.05f ? -1e4f : u < 0.1f ? -30.0f : u < 0.2f ? -2.0f : -0.05f * u;
        break;
    }
  }
  return values;
}

inline const std::vector<Decay> kDecays = {Decay::kNone, Decay::kWeak, Decay::kStrong, Decay::kHuge,
                                           Decay::kMixed};

inline void ExpectClose(const Floats& actual, const Floats& expected, double tolerance,
                        const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  double largest = 1, worst = 0;
  size_t where = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_TRUE(std::isfinite(actual[i])) << what << " at " << i << ": " << actual[i];
    largest = std::max(largest, std::abs(static_cast<double>(expected[i])));
    const double difference = std::abs(static_cast<double>(actual[i]) - expected[i]);
    if (difference > worst) {
      worst = difference;
      where = i;
    }
  }
  EXPECT_LE(worst, tolerance * largest) << what << ": largest difference at " << where << ": "
                                        << actual[where] << ", expected " << expected[where];
}

/// `actual` is `plain` times a power of two, to the bit.
inline void ExpectTimes(const Floats& actual, const Floats& plain, float factor) {
  ASSERT_EQ(actual.size(), plain.size());
  for (size_t i = 0; i < plain.size(); ++i) ASSERT_EQ(actual[i], plain[i] * factor) << i;
}

/// Rows of `width` outputs of which column `column` is no number from row `token` on and all others
/// are finite.
inline void ExpectBroken(const Floats& o, int64_t width, int64_t token, int64_t column) {
  for (size_t i = 0; i < o.size(); ++i) {
    const auto t = static_cast<int64_t>(i) / width, c = static_cast<int64_t>(i) % width;
    if (c != column) {
      ASSERT_TRUE(std::isfinite(o[i])) << t << " " << c;
    } else if (t >= token) {
      ASSERT_TRUE(std::isnan(o[i])) << t;
    }
  }
}

/// Rows of every sequence between two cuts, packed.
struct Piece {
  std::vector<int64_t> offsets = {0};
  std::vector<int64_t> rows;    ///< in the whole packed batch
  std::vector<int64_t> begins;  ///< first row inside its sequence, a sequence
};

/// The batch of sequences of `lengths`, cut at `cuts` (rows inside the sequence, rising).
inline std::vector<Piece> CutPieces(const std::vector<int64_t>& lengths,
                                    const std::vector<int64_t>& cuts) {
  std::vector<int64_t> ends = cuts;
  ends.push_back(std::max<int64_t>(1, *std::max_element(lengths.begin(), lengths.end())));
  std::vector<Piece> pieces;
  int64_t begin = 0;
  for (const int64_t end : ends) {
    Piece piece;
    int64_t base = 0;
    for (const int64_t length : lengths) {
      const int64_t low = std::min(begin, length), high = std::min(end, length);
      piece.begins.push_back(low);
      for (int64_t t = low; t < high; ++t) piece.rows.push_back(base + t);
      piece.offsets.push_back(static_cast<int64_t>(piece.rows.size()));
      base += length;
    }
    begin = end;
    pieces.push_back(piece);
  }
  return pieces;
}

inline Floats Gather(const Floats& source, const std::vector<int64_t>& rows, int64_t width) {
  Floats result;
  for (const int64_t row : rows) {
    result.insert(result.end(), source.begin() + row * width, source.begin() + (row + 1) * width);
  }
  return result;
}

inline void Scatter(const Floats& source, const std::vector<int64_t>& rows, int64_t width,
                    Floats& target) {
  for (size_t i = 0; i < rows.size(); ++i) {
    std::copy_n(source.begin() + static_cast<int64_t>(i) * width, width,
                target.begin() + rows[i] * width);
  }
}

inline std::vector<float*> Pointers(std::vector<Floats>& states) {
  std::vector<float*> pointers;
  for (Floats& state : states) pointers.push_back(state.data());
  return pointers;
}

inline int64_t Sum(const std::vector<int64_t>& lengths) {
  int64_t total = 0;
  for (const int64_t length : lengths) total += length;
  return total;
}

/// Runs `body` with an OpenMP team of `threads`.
template <typename Body>
void WithThreads(int threads, const Body& body) {
  const int before = omp_get_max_threads();
  omp_set_num_threads(threads);
  body();
  omp_set_num_threads(before);
}

}  // namespace natsl::kernels::testing
