// Attention of one query and the heads that share a kv head over a range of pages: a decode step.
// Every key and value is read once from memory and meets all the heads from the nearest cache.
#include "kernels/cpu/mixer_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/paged_attention_part.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/cpu/paged_attention_parts.h"
#include "kernels/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace natsl::kernels::HWY_NAMESPACE {
namespace {

/// scores[c * 64 + j] = queries[c] . keys[j] for kKeys keys and kHeads heads.
template <int kKeys, int kHeads>
HWY_INLINE void ScoreBlock(const float* queries, const float* keys, int64_t key_dim,
                           float* scores) {
  FloatVector sums[kKeys][kHeads];
#pragma GCC unroll 8
  for (int j = 0; j < kKeys; ++j) {
#pragma GCC unroll 8
    for (int c = 0; c < kHeads; ++c) sums[j][c] = hn::Zero(kFloats);
  }
  const auto add = [&](const auto& load) HWY_ATTR {
    FloatVector inputs[kHeads];
#pragma GCC unroll 8
    for (int c = 0; c < kHeads; ++c) inputs[c] = load(queries + c * key_dim);
#pragma GCC unroll 8
    for (int j = 0; j < kKeys; ++j) {
      const FloatVector key = load(keys + j * key_dim);
#pragma GCC unroll 8
      for (int c = 0; c < kHeads; ++c) sums[j][c] = hn::MulAdd(key, inputs[c], sums[j][c]);
    }
  };
  const int64_t lanes = FloatLanes();
  int64_t d = 0;
  for (; d + lanes <= key_dim; d += lanes) {
    add([&](const float* row) HWY_ATTR { return hn::LoadU(kFloats, row + d); });
  }
  if (d < key_dim) {
    add([&](const float* row) HWY_ATTR { return LoadFirst(row + d, key_dim - d); });
  }
#pragma GCC unroll 8
  for (int j = 0; j < kKeys; ++j) {
#pragma GCC unroll 8
    for (int c = 0; c < kHeads; ++c) scores[c * kPageTokens + j] = Sum(sums[j][c]);
  }
}

template <int kHeads>
HWY_INLINE void Score(const float* queries, const float* keys, int64_t key_dim, int64_t count,
                      float* scores) {
  int64_t j = 0;
  for (; j + 4 <= count; j += 4) {
    ScoreBlock<4, kHeads>(queries, keys + j * key_dim, key_dim, scores + j);
  }
  for (; j < count; ++j) {
    ScoreBlock<1, kHeads>(queries, keys + j * key_dim, key_dim, scores + j);
  }
}

/// outputs[c] = rescale[c] * outputs[c] + weights[c] x values, for kVectors whole or one partial
/// vector (`partial` lanes) of the value dimension.
template <int kHeads, int kVectors>
HWY_INLINE void Gather(const float* weights, const float* rescale, const float* values,
                       int64_t value_dim, int64_t count, int64_t partial, float* outputs,
                       int64_t output_step) {
  const int64_t lanes = FloatLanes();
  const auto load = [&](const float* p) HWY_ATTR {
    return partial == 0 ? hn::LoadU(kFloats, p) : LoadFirst(p, partial);
  };
  FloatVector sums[kHeads][kVectors];
#pragma GCC unroll 8
  for (int c = 0; c < kHeads; ++c) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      sums[c][v] =
          hn::Mul(load(outputs + c * output_step + v * lanes), hn::Set(kFloats, rescale[c]));
    }
  }
  for (int64_t j = 0; j < count; ++j) {
    FloatVector factors[kHeads];
#pragma GCC unroll 8
    for (int c = 0; c < kHeads; ++c) factors[c] = hn::Set(kFloats, weights[c * kPageTokens + j]);
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      const FloatVector value = load(values + j * value_dim + v * lanes);
#pragma GCC unroll 8
      for (int c = 0; c < kHeads; ++c) sums[c][v] = hn::MulAdd(factors[c], value, sums[c][v]);
    }
  }
#pragma GCC unroll 8
  for (int c = 0; c < kHeads; ++c) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      float* target = outputs + c * output_step + v * lanes;
      if (partial == 0) {
        hn::StoreU(sums[c][v], kFloats, target);
      } else {
        StoreFirst(sums[c][v], target, partial);
      }
    }
  }
}

/// Scores of `count` keys become weights; returns the factor for what was summed before.
HWY_INLINE float Weigh(float* scores, int64_t count, float& highest, float& total) {
  const int64_t lanes = FloatLanes();
  for (int64_t j = count; j < kPageTokens && j % lanes != 0; ++j) {
    scores[j] = -std::numeric_limits<float>::infinity();
  }
  FloatVector most = hn::Set(kFloats, highest);
  for (int64_t j = 0; j < count; j += lanes) {
    most = hn::Max(most, hn::LoadU(kFloats, scores + j));
  }
  const FloatVector now = hn::MaxOfLanes(kFloats, most);
  FloatVector sum = hn::Zero(kFloats);
  for (int64_t j = 0; j < count; j += lanes) {
    const FloatVector weight = Exp2(hn::Sub(hn::LoadU(kFloats, scores + j), now));
    hn::StoreU(weight, kFloats, scores + j);
    sum = hn::Add(sum, weight);
  }
  const float rescale = hn::GetLane(Exp2(hn::Sub(hn::Set(kFloats, highest), now)));
  highest = hn::GetLane(now);
  total = total * rescale + Sum(sum);
  return rescale;
}

/// `count` keys and values against kHeads heads.
template <int kHeads>
HWY_INLINE void Keys(const PagedAttentionArgs& args, const float* queries, const float* keys,
                     const float* values, int64_t count, float* scores, float* result) {
  const int64_t lanes = FloatLanes();
  const int64_t step = PartResultFloats(args);
  Score<kHeads>(queries, keys, args.key_dim, count, scores);
  float rescale[kHeads];
  for (int c = 0; c < kHeads; ++c) {
    float* head = result + c * step;
    rescale[c] = Weigh(scores + c * kPageTokens, count, head[0], head[1]);
  }
  int64_t d = 0;
  float* outputs = result + 2;
  for (; d + 4 * lanes <= args.value_dim; d += 4 * lanes) {
    Gather<kHeads, 4>(scores, rescale, values + d, args.value_dim, count, 0, outputs + d, step);
  }
  for (; d + lanes <= args.value_dim; d += lanes) {
    Gather<kHeads, 1>(scores, rescale, values + d, args.value_dim, count, 0, outputs + d, step);
  }
  if (d < args.value_dim) {
    Gather<kHeads, 1>(scores, rescale, values + d, args.value_dim, count, args.value_dim - d,
                      outputs + d, step);
  }
}

void RunPart(const PagedAttentionArgs& args, const AttentionPart& part, float* scratch) {
  const AttentionBlock& block = *part.block;
  const int64_t shared = SharedHeads(args);
  const int64_t step = PartResultFloats(args);
  float* queries = scratch;  // [shared, key_dim]
  float* scores = scratch + kMostPartHeads * args.key_dim;
  const float* q = static_cast<const float*>(args.q) + block.query_row * args.q_stride +
                   FirstQueryHead(args, block, part.kv_head) * args.key_dim;
  const auto factor = static_cast<float>(args.scale * 1.4426950408889634);
  for (int64_t i = 0; i < shared * args.key_dim; ++i) queries[i] = q[i] * factor;
  for (int64_t head = 0; head < shared; ++head) {
    part.result[head * step] = std::numeric_limits<float>::lowest();
    std::fill_n(part.result + head * step + 1, args.value_dim + 1, 0.0F);
  }
  const int64_t end_key = block.first_key + 1;
  const int64_t first_key = args.window > 0 ? std::max<int64_t>(0, end_key - args.window) : 0;
  for (int64_t page = part.first_page; page < part.end_page; ++page) {
    const int64_t start = page * kPageTokens;
    const int64_t begin = std::max<int64_t>(first_key - start, 0);
    const int64_t count = std::min(kPageTokens, end_key - start) - begin;
    const auto* keys = static_cast<const float*>(block.key_pages[page]) +
                       (part.kv_head * kPageTokens + begin) * args.key_dim;
    const auto* values = static_cast<const float*>(block.value_pages[page]) +
                         (part.kv_head * kPageTokens + begin) * args.value_dim;
    int64_t head = 0;
    const auto run = [&]<int kHeads>() HWY_ATTR {
      Keys<kHeads>(args, queries + head * args.key_dim, keys, values, count, scores,
                   part.result + head * step);
      head += kHeads;
    };
    while (head + 4 <= shared) run.template operator()<4>();
    if (head + 2 <= shared) run.template operator()<2>();
    if (head < shared) run.template operator()<1>();
  }
}

}  // namespace
}  // namespace natsl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace natsl::kernels {
HWY_EXPORT(RunPart);

void AttendPart(const PagedAttentionArgs& args, const AttentionPart& part, float* scratch) {
  HWY_DYNAMIC_DISPATCH(RunPart)(args, part, scratch);
}

}  // namespace natsl::kernels
#endif
