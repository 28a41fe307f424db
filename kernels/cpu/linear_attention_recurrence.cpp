// Linear attention's recurrence in float32: a block of columns of one head at a time, the state in
// place, tokens in runs short enough that the block stays in the cache.
#include "kernels/cpu/mixer_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/linear_attention_recurrence.cpp"
#include <cmath>

#include "hwy/foreach_target.h"  // must precede highway.h
#include "hwy/highway.h"
#include "kernels/cpu/mixer_columns-inl.h"
#include "kernels/cpu/mixer_exp-inl.h"
#include "kernels/cpu/mixer_recurrence.h"
#include "kernels/cpu/mixer_scratch.h"

HWY_BEFORE_NAMESPACE();
namespace natsl::kernels::HWY_NAMESPACE {

// Up to kShortPiece rows of one head of one sequence; row pointers are those of the first row.
struct LinearRun {
  const float* q;
  const float* k;
  const float* v;
  float* o;
  float* state;
  const float* bonus;  // null or [K]
  int64_t rows;
  const float* decay;  // exp(g): [rows, K] or, where scalar, [rows]
};

template <int kVectors, bool kVectorDecay, bool kBonus, class D>
void RunColumns(D d, const LinearAttentionArgs& args, const LinearRun& run, int64_t column) {
  using V = hn::Vec<D>;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t key_dim = args.key_dim, stride = args.value_dim;
  const V scale = hn::Set(d, static_cast<float>(args.scale));
  float* const state = run.state + column;
  for (int64_t r = 0; r < run.rows; ++r) {
    const float* const q = run.q + r * args.q_stride;
    const float* const k = run.k + r * args.k_stride;
    const float* const v = run.v + r * args.v_stride + column;
    const float* const decay = run.decay + (kVectorDecay ? r * key_dim : r);
    float* const o = run.o + r * args.heads * args.value_dim + column;
    V value[kVectors], read[kVectors];
    HWY_UNROLL(4)
    for (int n = 0; n < kVectors; ++n) {
      value[n] = hn::LoadU(d, v + n * lanes);
      read[n] = hn::Zero(d);
    }
    float self = 0;  // q . (u * k)
    for (int64_t i = 0; i < key_dim; ++i) {
      const V key = hn::Set(d, k[i]), query = hn::Set(d, q[i]);
      const V factor = hn::Set(d, decay[kVectorDecay ? i : 0]);
      if (kBonus) self += q[i] * run.bonus[i] * k[i];
      HWY_UNROLL(4)
      for (int n = 0; n < kVectors; ++n) {
        float* const cell = state + i * stride + n * lanes;
        const V before = hn::LoadU(d, cell);
        const V next = hn::MulAdd(key, value[n], hn::Mul(factor, before));
        hn::StoreU(next, d, cell);
        read[n] = hn::MulAdd(query, kBonus ? before : next, read[n]);
      }
    }
    HWY_UNROLL(4)
    for (int n = 0; n < kVectors; ++n) {
      if (kBonus) read[n] = hn::MulAdd(hn::Set(d, self), value[n], read[n]);
      hn::StoreU(hn::Mul(scale, read[n]), d, o + n * lanes);
    }
  }
}

void RunLinearItem(const LinearAttentionArgs& args, const MixerItem& item) {
  const int64_t head = item.group, key_dim = args.key_dim;
  const int64_t q_head = head / (args.heads / args.q_heads);
  const int64_t kv_head = head / (args.heads / args.kv_heads);
  const int64_t v_head = head / (args.heads / args.v_heads);
  const int64_t begin = item.begin * kUnitColumns;
  const int64_t end = std::min(item.end * kUnitColumns, args.value_dim);
  const bool vector_decay = args.decay == DecayKind::kVectorPerToken;
  float* const decay = ThreadScratch(vector_decay ? kShortPiece * key_dim : kShortPiece);
  LinearRun run;
  run.state = args.states[item.sequence] + head * key_dim * args.value_dim;
  run.bonus = args.bonus == nullptr ? nullptr : args.bonus + head * key_dim;
  run.decay = decay;
  const int64_t last = args.offsets[item.sequence + 1];
  for (int64_t t = args.offsets[item.sequence]; t < last; t += run.rows) {
    run.rows = std::min(kShortPiece, last - t);
    run.q = static_cast<const float*>(args.q) + t * args.q_stride + q_head * key_dim;
    run.k = static_cast<const float*>(args.k) + t * args.k_stride + kv_head * key_dim;
    run.v = static_cast<const float*>(args.v) + t * args.v_stride + v_head * args.value_dim;
    run.o = static_cast<float*>(args.o) + (t * args.heads + head) * args.value_dim;
    for (int64_t r = 0; r < run.rows; ++r) {
      switch (args.decay) {
        case DecayKind::kScalarPerHead:
          decay[r] = std::exp(args.g[head]);
          break;
        case DecayKind::kScalarPerToken:
          decay[r] = std::exp(args.g[(t + r) * args.heads + head]);
          break;
        case DecayKind::kVectorPerToken:
          ExpArray(args.g + ((t + r) * args.kv_heads + kv_head) * key_dim, key_dim,
                   decay + r * key_dim);
          break;
      }
    }
    ForColumns(begin, end, [&](auto d, auto vectors, int64_t column) HWY_ATTR {
      constexpr int kVectors = decltype(vectors)::value;
      if (vector_decay && run.bonus != nullptr) {
        RunColumns<kVectors, true, true>(d, args, run, column);
      } else if (vector_decay) {
        RunColumns<kVectors, true, false>(d, args, run, column);
      } else if (run.bonus != nullptr) {
        RunColumns<kVectors, false, true>(d, args, run, column);
      } else {
        RunColumns<kVectors, false, false>(d, args, run, column);
      }
    });
  }
}

}  // namespace natsl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace natsl::kernels {

HWY_EXPORT(RunLinearItem);

void RunLinearAttentionRecurrence(const LinearAttentionArgs& args,
                                  const std::vector<MixerItem>& items) {
  RunItems(items, [&](const MixerItem& item) { HWY_DYNAMIC_DISPATCH(RunLinearItem)(args, item); });
}

}  // namespace natsl::kernels
#endif  // HWY_ONCE
