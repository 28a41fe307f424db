// The delta rule's recurrence in float32: a block of columns of one head at a time, tokens in runs.
// A run's first reading copies the block into a panel of the first-level cache, its last update
// writes it back: a state is read once and written once however many rows the run has.
#include "kernels/cpu/mixer_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/delta_rule_recurrence.cpp"
#include <cmath>

#include "hwy/foreach_target.h"  // must precede highway.h
#include "hwy/highway.h"
#include "kernels/cpu/mixer_columns-inl.h"
#include "kernels/cpu/mixer_recurrence.h"
#include "kernels/cpu/mixer_scratch.h"

HWY_BEFORE_NAMESPACE();
namespace natsl::kernels::HWY_NAMESPACE {

// Up to kRunRows rows of one head of one sequence; row pointers are those of the first row.
struct DeltaRun {
  const float* q;
  const float* k;
  const float* v;
  float* o;
  float* state;
  float* panel;
  float* chunk_start;   // null without NAtS-L
  const uint8_t* keep;  // of the first chunk that completes
  int64_t rows;
  int64_t position;       // of the first row
  float decay[kRunRows];  // exp(g)
  float beta[kRunRows];
  float past_decay[kRunRows];  // exp(Gs), the row's g included
};

// to = factor * from, kVectors vectors of columns of `rows` rows.
template <int kVectors, class D>
void ScaleColumns(D d, float factor, const Cells& from, int64_t rows, const Cells& to) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t i = 0; i < rows; ++i) {
    for (int n = 0; n < kVectors; ++n) {
      const auto cell = hn::LoadU(d, from.first + i * from.stride + n * lanes);
      hn::StoreU(hn::Mul(hn::Set(d, factor), cell), d, to.first + i * to.stride + n * lanes);
    }
  }
}

// to = decay * from + k update^T, read = to^T q.
template <int kVectors, class D>
HWY_INLINE void UpdateColumns(D d, float decay, const float* k, const float* q, const Cells& from,
                              const Cells& to, int64_t rows, const hn::Vec<D>* update,
                              hn::Vec<D>* read) {
  using V = hn::Vec<D>;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const V factor = hn::Set(d, decay);
  V add[kVectors], sum[kVectors];
  HWY_UNROLL(4)
  for (int n = 0; n < kVectors; ++n) {
    add[n] = update[n];
    sum[n] = hn::Zero(d);
  }
  for (int64_t i = 0; i < rows; ++i) {
    const V key = hn::Set(d, k[i]), query = hn::Set(d, q[i]);
    HWY_UNROLL(4)
    for (int n = 0; n < kVectors; ++n) {
      const V before = hn::LoadU(d, from.first + i * from.stride + n * lanes);
      const V next = hn::MulAdd(key, add[n], hn::Mul(factor, before));
      hn::StoreU(next, d, to.first + i * to.stride + n * lanes);
      sum[n] = hn::MulAdd(query, next, sum[n]);
    }
  }
  HWY_UNROLL(4)
  for (int n = 0; n < kVectors; ++n) read[n] = sum[n];
}

// kOneRow: the run's only row is computed where the state lies, without the panel.
template <int kVectors, bool kOneRow, class D>
void RunColumns(D d, const DeltaRuleArgs& args, const DeltaRun& run, int64_t column) {
  using V = hn::Vec<D>;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t key_dim = args.key_dim;
  const bool past_only = args.own_chunk == OwnChunkRule::kPastOnly;
  const V scale = hn::Set(d, static_cast<float>(args.scale));
  const Cells state{run.state + column, args.value_dim, true};
  const Cells panel{run.panel, kVectors * lanes, false};
  const Cells& held = kOneRow ? state : panel;
  const bool in_chunks = run.chunk_start != nullptr;
  const Cells chunk_start{in_chunks ? run.chunk_start + column : nullptr, args.value_dim, true};
  const uint8_t* keep = run.keep;
  for (int64_t r = 0; r < run.rows; ++r) {
    const float* const q = run.q + r * args.q_stride;
    const float* const k = run.k + r * args.k_stride;
    const float* const v = run.v + r * args.v_stride + column;
    float* const o = run.o + r * args.value_heads * args.value_dim + column;
    if (in_chunks && (run.position + r) % kPageTokens == 0) {
      ScaleColumns<kVectors>(d, 1, r == 0 ? state : panel, key_dim, chunk_start);
    }
    V update[kVectors], read[kVectors];
    if (r == 0 && !kOneRow) {
      ReadColumns<kVectors, true>(d, k, state, panel, key_dim, update);
    } else {
      ReadColumns<kVectors, false>(d, k, held, panel, key_dim, update);
    }
    const V decay = hn::Set(d, run.decay[r]);
    HWY_UNROLL(4)
    for (int n = 0; n < kVectors; ++n) {
      const V difference = hn::NegMulAdd(decay, update[n], hn::LoadU(d, v + n * lanes));
      update[n] = hn::Mul(hn::Set(d, run.beta[r]), difference);
    }
    const Cells& to = r + 1 == run.rows ? state : panel;
    UpdateColumns<kVectors>(d, run.decay[r], k, q, held, to, key_dim, update, read);
    if (past_only) {
      ReadColumns<kVectors, false>(d, q, chunk_start, panel, key_dim, read);
      HWY_UNROLL(4)
      for (int n = 0; n < kVectors; ++n) {
        read[n] = hn::Mul(hn::Set(d, run.past_decay[r]), read[n]);
      }
    }
    HWY_UNROLL(4)
    for (int n = 0; n < kVectors; ++n) hn::StoreU(hn::Mul(scale, read[n]), d, o + n * lanes);
    if (in_chunks && (run.position + r + 1) % kPageTokens == 0) {
      if (*keep == 0) {
        const float factor = args.decay_over_softmax_chunks ? run.past_decay[r] : 1;
        ScaleColumns<kVectors>(d, factor, chunk_start, key_dim, to);
      }
      keep += args.value_heads;
    }
  }
}

void RunDeltaRuleItem(const DeltaRuleArgs& args, const MixerItem& item) {
  const int64_t head = item.group, size = args.key_dim * args.value_dim;
  const int64_t qk_head = head / (args.value_heads / args.heads);
  const int64_t begin = item.begin * kUnitColumns;
  const int64_t end = std::min(item.end * kUnitColumns, args.value_dim);
  const NatsDeltaState* nats = args.nats == nullptr ? nullptr : &args.nats[item.sequence];
  const int64_t first = args.offsets[item.sequence];
  double log_decay = 0;  // Gs
  if (nats != nullptr && nats->first_position % kPageTokens != 0) {
    log_decay = nats->chunk_log_decay[head];
  }
  const int64_t vectors = PanelVectors(args.key_dim, 4);
  DeltaRun run;
  run.panel = ThreadScratch(PanelSize(args.key_dim, vectors));
  run.state = args.states[item.sequence] + head * size;
  for (int64_t t = first; t < args.offsets[item.sequence + 1]; t += run.rows) {
    run.rows = std::min(kRunRows, args.offsets[item.sequence + 1] - t);
    run.q = static_cast<const float*>(args.q) + t * args.q_stride + qk_head * args.key_dim;
    run.k = static_cast<const float*>(args.k) + t * args.k_stride + qk_head * args.key_dim;
    run.v = static_cast<const float*>(args.v) + t * args.v_stride + head * args.value_dim;
    run.o = static_cast<float*>(args.o) + (t * args.value_heads + head) * args.value_dim;
    run.chunk_start = nullptr;
    run.keep = nullptr;
    run.position = 0;
    if (nats != nullptr) {
      run.chunk_start = nats->chunk_start + head * size;
      run.position = nats->first_position + t - first;
      const int64_t completed = run.position / kPageTokens - nats->first_position / kPageTokens;
      if (nats->keep != nullptr) run.keep = nats->keep + completed * args.value_heads + head;
    }
    for (int64_t r = 0; r < run.rows; ++r) {
      const int64_t at = (t + r) * args.value_heads + head;
      const float g = args.g == nullptr ? 0 : args.g[at];
      if (nats != nullptr && (run.position + r) % kPageTokens == 0) log_decay = 0;
      log_decay += g;
      run.decay[r] = std::exp(g);
      run.beta[r] = args.beta[at];
      run.past_decay[r] = nats == nullptr ? 0 : std::exp(static_cast<float>(log_decay));
    }
    ForColumns<4>(begin, end, vectors, [&](auto d, auto width, int64_t column) HWY_ATTR {
      constexpr int kVectors = decltype(width)::value;
      if (run.rows == 1) {
        RunColumns<kVectors, true>(d, args, run, column);
      } else {
        RunColumns<kVectors, false>(d, args, run, column);
      }
    });
  }
}

}  // namespace natsl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace natsl::kernels {

HWY_EXPORT(RunDeltaRuleItem);

void RunDeltaRuleRecurrence(const DeltaRuleArgs& args, const std::vector<MixerItem>& items) {
  RunItems(items, [&](const MixerItem& item) {
    HWY_DYNAMIC_DISPATCH(RunDeltaRuleItem)(args, item);
  });
}

void StoreChunkLogDecay(const DeltaRuleArgs& args) {
  for (int64_t s = 0; args.nats != nullptr && s < args.sequences; ++s) {
    const NatsDeltaState& nats = args.nats[s];
    const int64_t first = args.offsets[s], last = args.offsets[s + 1];
    if (first == last) continue;
    const int64_t in_chunk = (nats.first_position + last - first) % kPageTokens;
    const bool whole_chunk = in_chunk <= last - first;
    for (int64_t head = 0; head < args.value_heads; ++head) {
      double sum = whole_chunk ? 0 : nats.chunk_log_decay[head];
      for (int64_t t = whole_chunk ? last - in_chunk : first; t < last && args.g != nullptr; ++t) {
        sum += args.g[t * args.value_heads + head];
      }
      nats.chunk_log_decay[head] = static_cast<float>(sum);
    }
  }
}

}  // namespace natsl::kernels
#endif  // HWY_ONCE
