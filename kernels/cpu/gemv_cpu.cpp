// gemv on the processor. A tile of weight rows is read once and meets all rows of x from the cache;
// each product has one accumulator of its own, so a row of y doesn't depend on the other rows of x
// nor on the number of threads.
#include "kernels/cpu/mixer_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/gemv_cpu.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/simd-inl.h"
#include "kernels/gemv.h"
#include "kernels/reference/widen.h"
#include "kernels/require.h"

HWY_BEFORE_NAMESPACE();
namespace natsl::kernels::HWY_NAMESPACE {
namespace {

HWY_INLINE FloatVector LoadWide(const float* p) { return hn::LoadU(kFloats, p); }

HWY_INLINE FloatVector LoadWide(const hwy::bfloat16_t* p) {
  const hn::Rebind<uint16_t, FloatTag> narrow;
  const hn::RebindToUnsigned<FloatTag> wide;
  const auto bits = hn::PromoteTo(wide, hn::LoadU(narrow, reinterpret_cast<const uint16_t*>(p)));
  return hn::BitCast(kFloats, hn::ShiftLeft<16>(bits));
}

HWY_INLINE FloatVector LoadWide(const hwy::float16_t* p) {
#if HWY_TARGET == HWY_SCALAR  // whose own promotion makes infinities finite
  return hn::Set(kFloats, WidenFloat16(*reinterpret_cast<const uint16_t*>(p)));
#else
  const hn::Rebind<hwy::float16_t, FloatTag> narrow;
  return hn::PromoteTo(kFloats, hn::LoadU(narrow, p));
#endif
}

HWY_INLINE float Widen(const float* p) { return *p; }
HWY_INLINE float Widen(const hwy::bfloat16_t* p) {
  return WidenBFloat16(*reinterpret_cast<const uint16_t*>(p));
}
HWY_INLINE float Widen(const hwy::float16_t* p) {
  return WidenFloat16(*reinterpret_cast<const uint16_t*>(p));
}

/// kRows weight rows times kColumns rows of x.
template <int kRows, int kColumns, typename Weight>
HWY_INLINE void Tile(const GemvArgs& args, int64_t first_row, int64_t first_column) {
  const Weight* weight = static_cast<const Weight*>(args.weight) + first_row * args.k;
  const float* x = args.x + first_column * args.x_stride;
  const int64_t lanes = FloatLanes();
  // Weights come from memory in kRows streams: asked for this far ahead of their use.
  constexpr int64_t kAhead = 1024 / static_cast<int64_t>(sizeof(Weight));
  FloatVector sums[kRows][kColumns];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
    for (int c = 0; c < kColumns; ++c) sums[r][c] = hn::Zero(kFloats);
  }
  int64_t i = 0;
  for (; i + lanes <= args.k; i += lanes) {
    FloatVector inputs[kColumns];
#pragma GCC unroll 16
    for (int c = 0; c < kColumns; ++c) inputs[c] = hn::LoadU(kFloats, x + c * args.x_stride + i);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const Weight* row = weight + r * args.k + i;
      hwy::Prefetch(row + kAhead);
      const FloatVector w = LoadWide(row);
#pragma GCC unroll 16
      for (int c = 0; c < kColumns; ++c) sums[r][c] = hn::MulAdd(w, inputs[c], sums[r][c]);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
    const float bias = args.bias != nullptr ? args.bias[first_row + r] : 0.0F;
#pragma GCC unroll 16
    for (int c = 0; c < kColumns; ++c) {
      float sum = Sum(sums[r][c]);
      for (int64_t j = i; j < args.k; ++j) {
        sum += Widen(weight + r * args.k + j) * x[c * args.x_stride + j];
      }
      args.y[(first_column + c) * args.y_stride + first_row + r] = sum + bias;
    }
  }
}

template <int kRows, typename Weight>
HWY_INLINE void AllColumns(const GemvArgs& args, int64_t first_row) {
  int64_t column = 0;
  for (; column + 4 <= args.m; column += 4) Tile<kRows, 4, Weight>(args, first_row, column);
  switch (args.m - column) {
    case 3:
      return Tile<kRows, 3, Weight>(args, first_row, column);
    case 2:
      return Tile<kRows, 2, Weight>(args, first_row, column);
    case 1:
      return Tile<kRows, 1, Weight>(args, first_row, column);
    default:
      return;
  }
}

template <typename Weight>
HWY_INLINE void Rows(const GemvArgs& args, int64_t begin, int64_t end) {
  // 4 x 4 sums fill the registers of AVX-512; of AVX2, 2 x 4.
  constexpr int kRows = HWY_MAX_BYTES >= 64 ? 4 : 2;
  int64_t row = begin;
  for (; row + kRows <= end; row += kRows) AllColumns<kRows, Weight>(args, row);
  for (; row < end; ++row) AllColumns<1, Weight>(args, row);
}

/// Columns [begin, end) of y for all its rows.
void GemvRows(const GemvArgs& args, int64_t begin, int64_t end) {
  switch (args.weight_dtype) {
    case DType::kBFloat16:
      return Rows<hwy::bfloat16_t>(args, begin, end);
    case DType::kFloat16:
      return Rows<hwy::float16_t>(args, begin, end);
    default:
      return Rows<float>(args, begin, end);
  }
}

template <typename Source>
HWY_INLINE void ConvertRange(const Source* source, float* target, int64_t count) {
  const int64_t lanes = FloatLanes();
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(LoadWide(source + i), kFloats, target + i);
  for (; i < count; ++i) target[i] = Widen(source + i);
}

void Convert(const void* source, DType dtype, float* target, int64_t begin, int64_t end) {
  if (dtype == DType::kBFloat16) {
    ConvertRange(static_cast<const hwy::bfloat16_t*>(source) + begin, target + begin, end - begin);
  } else {
    ConvertRange(static_cast<const hwy::float16_t*>(source) + begin, target + begin, end - begin);
  }
}

}  // namespace
}  // namespace natsl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>

namespace natsl::kernels {
HWY_EXPORT(GemvRows);
HWY_EXPORT(Convert);

void RunGemvCpu(const GemvArgs& args) {
  if (args.m == 0) return;
  constexpr int64_t kRowsPerItem = 32;
  const auto rows = HWY_DYNAMIC_DISPATCH(GemvRows);
  const int64_t items = (args.n + kRowsPerItem - 1) / kRowsPerItem;
#pragma omp parallel for schedule(static) if (args.m * args.n * args.k > 65536)
  for (int64_t item = 0; item < items; ++item) {
    const int64_t begin = item * kRowsPerItem;
    rows(args, begin, std::min(begin + kRowsPerItem, args.n));
  }
}

void ConvertToFloat32(const void* source, DType dtype, float* target, int64_t count) {
  Require(dtype == DType::kBFloat16 || dtype == DType::kFloat16,
          "convert: dtype is {}, expected bfloat16 or float16", core::Name(dtype));
  constexpr int64_t kElementsPerItem = 16384;
  const auto convert = HWY_DYNAMIC_DISPATCH(Convert);
  const int64_t items = (count + kElementsPerItem - 1) / kElementsPerItem;
#pragma omp parallel for schedule(static) if (items > 4)
  for (int64_t item = 0; item < items; ++item) {
    const int64_t begin = item * kElementsPerItem;
    convert(source, dtype, target, begin, std::min(begin + kElementsPerItem, count));
  }
}

}  // namespace natsl::kernels
#endif
