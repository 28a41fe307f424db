// What the tests of gemv, norms, rotary embedding, short convolution and attention share: matrices
// with guarded padding, runs on every instruction set and team size, and their table of tolerances.
#pragma once

#include <hwy/targets.h>

#include <cstring>
#include <functional>

#include "tests/kernels/mixer_support.h"

namespace natsl::kernels::testing {

// Largest allowed difference from the double-precision definition, over max(1, largest value).
constexpr double kGemvTolerance = 2e-6;
constexpr double kNormTolerance = 2e-6;
constexpr double kSumNormTolerance = 2e-5;  // a sum of mixed signs loses digits
constexpr double kMergeNormTolerance = 2e-6;
constexpr double kShortConvTolerance = 1e-6;
constexpr double kRopeTolerance = 3e-7;
constexpr double kAttentionTolerance = 4e-6;

/// [rows, columns] with a row stride, and guards in the padding that no kernel may touch.
class Matrix {
 public:
  static constexpr float kGuard = 12345.5F;

  Matrix(int64_t rows, int64_t columns, int64_t padding)
      : rows_(rows),
        columns_(columns),
        stride_(columns + padding),
        values_(static_cast<size_t>(rows * stride_ + kTail), kGuard) {}

  static Matrix Normals(Random& random, int64_t rows, int64_t columns, int64_t padding) {
    Matrix matrix(rows, columns, padding);
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < columns; ++c) matrix.At(r, c) = random.Normal();
    }
    return matrix;
  }

  float& At(int64_t row, int64_t column) {
    return values_[static_cast<size_t>(row * stride_ + column)];
  }
  float* data() { return values_.data(); }
  int64_t stride() const { return stride_; }

  /// The values without padding. Fails the test where the padding was written to.
  Floats Values() const {
    Floats result;
    for (size_t i = 0; i < values_.size(); ++i) {
      const auto at = static_cast<int64_t>(i);
      if (at < rows_ * stride_ && at % stride_ < columns_) {
        result.push_back(values_[i]);
      } else {
        EXPECT_EQ(values_[i], kGuard) << "padding written at element " << i;
      }
    }
    return result;
  }

 private:
  static constexpr int64_t kTail = 32;
  int64_t rows_, columns_, stride_;
  Floats values_;
};

/// Runs `body` once on every instruction set that the kernels have and this machine supports.
inline void ForEachTarget(const std::function<void(const std::string&)>& body) {
  const int64_t supported = hwy::SupportedTargets();
  for (const int64_t target : {HWY_AVX3, HWY_AVX2, static_cast<long long>(HWY_STATIC_TARGET)}) {
    if ((supported & target) == 0) continue;
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    body(hwy::TargetName(target));
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

/// Runs `run` (a kernel on fresh inputs, returning its outputs) with teams of 1, 2, 3 and 5 threads
/// and expects the same bytes.
inline void ExpectSameBytesForAnyTeam(const std::function<Floats()>& run) {
  Floats alone;
  WithThreads(1, [&] { alone = run(); });
  for (const int threads : {2, 3, 5}) {
    Floats together;
    WithThreads(threads, [&] { together = run(); });
    ASSERT_EQ(alone.size(), together.size());
    EXPECT_EQ(std::memcmp(alone.data(), together.data(), alone.size() * sizeof(float)), 0)
        << threads << " threads";
  }
}

inline void Append(Floats& target, const Floats& source) {
  target.insert(target.end(), source.begin(), source.end());
}

}  // namespace natsl::kernels::testing
