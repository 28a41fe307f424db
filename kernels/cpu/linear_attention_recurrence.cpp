// Linear attention's recurrence in float32: a block of columns of one head at a time, tokens in
// runs, two rows a pass over the block. A run's first pass leaves the block in a panel of the
// first-level cache, its last writes it back; a run of one pass reads and writes the state alone.
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

// Up to kRunRows rows of one head of one sequence; row pointers are those of the first row.
struct LinearRun {
  const float* q;
  const float* k;
  const float* v;
  float* o;
  float* state;
  float* panel;
  int64_t rows;
  const float* decay;                // exp(g): [rows, K] or, where scalar, [rows]
  int64_t decay_stride, decay_step;  // from row to row and from key to key
  const float* self;                 // q . (u * k) [rows]; null without a bonus
};

// Row `row` and, where kRows is 2, the next: the state of `from`, updated, to `to`.
template <int kVectors, int kRows, bool kBonus, class D>
void RunPass(D d, const LinearAttentionArgs& args, const LinearRun& run, int64_t row,
             int64_t column, const Cells& from, const Cells& to) {
  using V = hn::Vec<D>;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const float* const q = run.q + row * args.q_stride;
  const float* const k = run.k + row * args.k_stride;
  const float* const v = run.v + row * args.v_stride + column;
  const float* const decay = run.decay + row * run.decay_stride;
  float* const o = run.o + row * args.heads * args.value_dim + column;
  V value[kRows * kVectors], read[kRows * kVectors];
  HWY_UNROLL(2)
  for (int r = 0; r < kRows; ++r) {
    HWY_UNROLL(8)
    for (int n = 0; n < kVectors; ++n) {
      value[r * kVectors + n] = hn::LoadU(d, v + r * args.v_stride + n * lanes);
      read[r * kVectors + n] = hn::Zero(d);
    }
  }
  for (int64_t i = 0; i < args.key_dim; ++i) {
    const float* const source = from.first + i * from.stride;
    if (from.prefetch) PrefetchBelow<kVectors>(d, source, from.stride);
    V cell[kVectors];
    HWY_UNROLL(8)
    for (int n = 0; n < kVectors; ++n) cell[n] = hn::LoadU(d, source + n * lanes);
    HWY_UNROLL(2)
    for (int r = 0; r < kRows; ++r) {
      const V key = hn::Set(d, k[r * args.k_stride + i]);
      const V query = hn::Set(d, q[r * args.q_stride + i]);
      const V factor = hn::Set(d, decay[r * run.decay_stride + i * run.decay_step]);
      HWY_UNROLL(8)
      for (int n = 0; n < kVectors; ++n) {
        const V before = cell[n];
        cell[n] = hn::MulAdd(key, value[r * kVectors + n], hn::Mul(factor, before));
        V& sum = read[r * kVectors + n];
        sum = hn::MulAdd(query, kBonus ? before : cell[n], sum);
      }
    }
    HWY_UNROLL(8)
    for (int n = 0; n < kVectors; ++n) {
      hn::StoreU(cell[n], d, to.first + i * to.stride + n * lanes);
    }
  }
  const V scale = hn::Set(d, static_cast<float>(args.scale));
  HWY_UNROLL(2)
  for (int r = 0; r < kRows; ++r) {
    HWY_UNROLL(8)
    for (int n = 0; n < kVectors; ++n) {
      V sum = read[r * kVectors + n];
      if (kBonus) sum = hn::MulAdd(hn::Set(d, run.self[row + r]), value[r * kVectors + n], sum);
      hn::StoreU(hn::Mul(scale, sum), d, o + r * args.heads * args.value_dim + n * lanes);
    }
  }
}

template <int kVectors, bool kBonus, class D>
void RunColumns(D d, const LinearAttentionArgs& args, const LinearRun& run, int64_t column) {
  const Cells state{run.state + column, args.value_dim, true};
  const Cells panel{run.panel, kVectors * static_cast<int64_t>(hn::Lanes(d)), false};
  for (int64_t r = 0; r < run.rows; r += 2) {
    const Cells& from = r == 0 ? state : panel;
    const Cells& to = r + 2 >= run.rows ? state : panel;
    if (r + 1 == run.rows) {
      RunPass<kVectors, 1, kBonus>(d, args, run, r, column, from, to);
    } else if constexpr (kVectors <= 4) {
      RunPass<kVectors, 2, kBonus>(d, args, run, r, column, from, to);
    }
  }
}

// q . (u * k) of each row.
void SelfProducts(const LinearAttentionArgs& args, const LinearRun& run, const float* bonus,
                  float* self) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t r = 0; r < run.rows; ++r) {
    const float* const q = run.q + r * args.q_stride;
    const float* const k = run.k + r * args.k_stride;
    auto sums = hn::Zero(d);
    int64_t i = 0;
    for (; i + lanes <= args.key_dim; i += lanes) {
      const auto product = hn::Mul(hn::LoadU(d, q + i), hn::LoadU(d, bonus + i));
      sums = hn::MulAdd(product, hn::LoadU(d, k + i), sums);
    }
    self[r] = hn::GetLane(hn::SumOfLanes(d, sums));
    for (; i < args.key_dim; ++i) self[r] += q[i] * bonus[i] * k[i];
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
  const int64_t last = args.offsets[item.sequence + 1];
  // A single row keeps few accumulators and takes wide blocks of the state as it lies in memory.
  constexpr bool kManyRegisters = hn::MaxLanes(hn::ScalableTag<float>()) >= 16;
  const bool single = last - args.offsets[item.sequence] == 1;
  const int64_t widest = kManyRegisters ? 4 : 2;
  const int64_t vectors = single ? 2 * widest : PanelVectors(key_dim, widest);
  LinearRun run;
  float *decay = nullptr, *self = nullptr;
  Scratch::Fill([&](Scratch& scratch) {
    decay = scratch.Take(vector_decay ? kRunRows * key_dim : kRunRows);
    self = scratch.Take(kRunRows);
    run.panel = scratch.Take(PanelSize(key_dim, vectors));
  });
  run.state = args.states[item.sequence] + head * key_dim * args.value_dim;
  run.decay = decay;
  run.decay_stride = vector_decay ? key_dim : 1;
  run.decay_step = vector_decay ? 1 : 0;
  run.self = self;
  for (int64_t t = args.offsets[item.sequence]; t < last; t += run.rows) {
    run.rows = std::min(kRunRows, last - t);
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
    if (args.bonus != nullptr) SelfProducts(args, run, args.bonus + head * key_dim, self);
    ForColumns<8>(begin, end, vectors, [&](auto d, auto width, int64_t column) HWY_ATTR {
      if (args.bonus != nullptr) {
        RunColumns<decltype(width)::value, true>(d, args, run, column);
      } else {
        RunColumns<decltype(width)::value, false>(d, args, run, column);
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
