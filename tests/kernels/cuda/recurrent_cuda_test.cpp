// The delta rule, linear attention and the scan on the device against their definitions: whole
// sequences, packed batches, pieces with carried state, decode steps, NAtS-L chunks.
#include "kernels/cuda/delta_rule.h"
#include "kernels/cuda/linear_attention.h"
#include "kernels/cuda/scan.h"
#include "kernels/scan.h"
#include "tests/kernels/cuda/cuda_support.h"

namespace natsl::kernels::cuda {
namespace {

using namespace testing;
using kernels::testing::Decay;
using kernels::testing::Gather;
using kernels::testing::LogDecays;
using kernels::testing::Pointers;
using kernels::testing::Scatter;
using kernels::testing::Sum;

class DeltaRuleCuda : public CudaTest {};
class LinearAttentionCuda : public CudaTest {};
class ScanCuda : public CudaTest {};

std::vector<int64_t> Offsets(const std::vector<int64_t>& lengths) {
  std::vector<int64_t> offsets = {0};
  for (const int64_t length : lengths) offsets.push_back(offsets.back() + length);
  return offsets;
}

// States of `sequences` in slots: sequence s reads slot 2s and writes slot 2s+1, then they swap.
struct Slots {
  explicit Slots(int64_t sequences, bool swapped = false) {
    for (int32_t s = 0; s < sequences; ++s) {
      even.push_back(2 * s);
      odd.push_back(2 * s + 1);
    }
    read = std::make_unique<Array<int32_t>>(swapped ? odd : even);
    write = std::make_unique<Array<int32_t>>(swapped ? even : odd);
  }
  StateSlots get() const { return {read->data(), write->data()}; }
  std::vector<int32_t> even, odd;
  std::unique_ptr<Array<int32_t>> read, write;
};

Floats InEvenSlots(const std::vector<Floats>& states) {
  Floats all;
  for (const Floats& state : states) {
    all.insert(all.end(), state.begin(), state.end());
    all.insert(all.end(), state.size(), NAN);
  }
  return all;
}

struct DeltaCase {
  DType dtype = DType::kFloat32;
  int64_t heads = 2, value_heads = 2, key_dim = 32, value_dim = 48;
  std::vector<int64_t> lengths;
  Decay decay = Decay::kWeak;
  bool normalize = false;
  bool nats = false;
  double softmax_share = 0.5;
  int64_t first = 0;
  bool decay_over = true;
  OwnChunkRule own_chunk = OwnChunkRule::kAll;
  std::vector<int64_t> cuts;  ///< the batch is run in pieces
};

void RunDeltaCase(const DeltaCase& c, uint64_t seed) {
  SCOPED_TRACE(::testing::Message()
               << "dtype " << core::Name(c.dtype) << " dims " << c.key_dim << " x " << c.value_dim
               << " first length " << c.lengths[0] << " decay " << int(c.decay) << " nats "
               << c.nats << " first " << c.first << " decay over " << c.decay_over << " pieces "
               << c.cuts.size() + 1);
  Random random(seed);
  const int64_t tokens = Sum(c.lengths), sequences = static_cast<int64_t>(c.lengths.size());
  const int64_t qk = c.heads * c.key_dim, values = c.value_heads * c.value_dim;
  const int64_t size = c.value_heads * c.key_dim * c.value_dim;
  Floats q = random.Normals(tokens * qk), k = random.Normals(tokens * qk);
  const auto normalize = [&](Floats& x) {
    for (size_t r = 0; r < x.size(); r += static_cast<size_t>(c.key_dim)) {
      double sum = 1e-6;
      for (int64_t i = 0; i < c.key_dim; ++i) sum += x[r + i] * x[r + i];
      for (int64_t i = 0; i < c.key_dim; ++i) x[r + i] /= static_cast<float>(std::sqrt(sum));
    }
  };
  if (!c.normalize) {
    normalize(q);
    normalize(k);
  }
  q = Rounded(c.dtype, q);
  k = Rounded(c.dtype, k);
  const Floats v = Rounded(c.dtype, random.Normals(tokens * values));
  const Floats g = LogDecays(random, tokens * c.value_heads, c.decay);
  const Floats beta = random.Uniforms(tokens * c.value_heads, 0, 1);
  std::vector<Floats> states, starts, logs;
  std::vector<std::vector<uint8_t>> softmax;  // a chunk and head, whole sequence
  for (const int64_t length : c.lengths) {
    states.push_back(random.Normals(size, 0.3f));
    starts.push_back(random.Normals(size, 0.3f));
    logs.push_back(random.Uniforms(c.value_heads, -1, 0));
    std::vector<uint8_t> flags;
    for (int64_t i = 0; i < (length / 64 + 2) * c.value_heads; ++i) {
      flags.push_back(random.Uniform(0, 1) < c.softmax_share ? 1 : 0);
    }
    softmax.push_back(flags);
  }

  // The definition, over the whole sequences.
  Floats reference_q = q, reference_k = k;
  if (c.normalize) {
    normalize(reference_q);
    normalize(reference_k);
  }
  std::vector<Floats> end_states = states, end_starts = starts, end_logs = logs;
  Floats expected(v.size());
  std::vector<kernels::NatsDeltaState> nats(c.lengths.size());
  std::vector<std::vector<uint8_t>> keep = softmax;
  for (size_t s = 0; s < keep.size(); ++s) {
    for (uint8_t& flag : keep[s]) flag = flag == 0 ? 1 : 0;
    nats[s] = {end_starts[s].data(), end_logs[s].data(), c.first, keep[s].data()};
  }
  const std::vector<int64_t> offsets = Offsets(c.lengths);
  const std::vector<float*> pointers = Pointers(end_states);
  kernels::DeltaRuleArgs reference;
  reference.q = reference_q.data();
  reference.k = reference_k.data();
  reference.v = v.data();
  reference.q_stride = reference.k_stride = qk;
  reference.v_stride = values;
  reference.g = g.data();
  reference.beta = beta.data();
  reference.o = expected.data();
  reference.states = pointers.data();
  reference.nats = c.nats ? nats.data() : nullptr;
  reference.decay_over_softmax_chunks = c.decay_over;
  reference.own_chunk = c.own_chunk;
  reference.offsets = offsets.data();
  reference.sequences = sequences;
  reference.heads = c.heads;
  reference.value_heads = c.value_heads;
  reference.key_dim = c.key_dim;
  reference.value_dim = c.value_dim;
  reference.scale = 1 / std::sqrt(static_cast<double>(c.key_dim));
  kernels::RunDeltaRuleReference(reference);

  // The device, piece by piece. A piece of one row a sequence is a decode step.
  Array<float> state(InEvenSlots(states)), start(InEvenSlots(starts)), log(InEvenSlots(logs));
  Floats actual(v.size(), NAN);
  bool swapped = false;
  for (const auto& piece : kernels::testing::CutPieces(c.lengths, c.cuts)) {
    if (piece.rows.empty()) continue;
    bool step = sequences > 0;
    for (size_t s = 0; s < c.lengths.size(); ++s) {
      step = step && piece.offsets[s + 1] - piece.offsets[s] == 1;
    }
    Floats both;  // q and k side by side: rows with a stride
    for (const int64_t row : piece.rows) {
      both.insert(both.end(), q.begin() + row * qk, q.begin() + (row + 1) * qk);
      both.insert(both.end(), k.begin() + row * qk, k.begin() + (row + 1) * qk);
    }
    const Activations qk_rows(c.dtype, both), v_rows(c.dtype, Gather(v, piece.rows, values));
    const Array<float> g_rows(Gather(g, piece.rows, c.value_heads));
    const Array<float> beta_rows(Gather(beta, piece.rows, c.value_heads));
    const Activations o(c.dtype, static_cast<int64_t>(piece.rows.size()) * values);
    std::vector<int64_t> first;
    for (const int64_t begin : piece.begins) first.push_back(c.first + begin);
    const PlannedBatch batch(piece.offsets, first);
    std::vector<uint8_t> flags;
    for (size_t s = 0; s < c.lengths.size(); ++s) {
      const int64_t rows = piece.offsets[s + 1] - piece.offsets[s];
      const int64_t chunk = first[s] / 64 - c.first / 64;
      const int64_t chunks = rows == 0 ? 0 : (first[s] % 64 + rows + 63) / 64;
      for (int64_t i = chunk * c.value_heads; i < (chunk + chunks) * c.value_heads; ++i) {
        flags.push_back(static_cast<size_t>(i) < softmax[s].size() ? softmax[s][i] : 0);
      }
    }
    flags.resize(static_cast<size_t>(MaxChunks(piece.offsets.back(), sequences) * c.value_heads));
    const Array<uint8_t> device_flags(flags);
    const Slots slots(sequences, swapped);
    NatsDelta nats_args;
    nats_args.chunk_start = start.data();
    nats_args.chunk_log_decay = log.data();
    nats_args.softmax = device_flags.data();
    nats_args.softmax_heads = c.value_heads;
    nats_args.decay_over_softmax_chunks = c.decay_over;
    nats_args.own_chunk = c.own_chunk;
    DeltaRuleArgs args;
    args.dtype = c.dtype;
    args.q = qk_rows.data();
    args.k = static_cast<char*>(qk_rows.data()) + qk * core::ByteSize(c.dtype);
    args.q_stride = args.k_stride = 2 * qk;
    args.v = v_rows.data();
    args.v_stride = values;
    args.normalize_qk = c.normalize;
    args.g = g_rows.data();
    args.beta = beta_rows.data();
    args.o = o.data();
    args.o_stride = values;
    args.state = state.data();
    args.slots = slots.get();
    args.nats = c.nats ? &nats_args : nullptr;
    args.plan = step ? nullptr : &batch.plan;
    args.positions = batch.device_first.data();
    args.sequences = sequences;
    args.heads = c.heads;
    args.value_heads = c.value_heads;
    args.key_dim = c.key_dim;
    args.value_dim = c.value_dim;
    args.scale = reference.scale;
    const Memory workspace(static_cast<size_t>(DeltaRuleWorkspaceBytes(args)));
    args.workspace = workspace.data();
    RunDeltaRule(args, nullptr);
    Synchronize();
    Scatter(o.Values(), piece.rows, values, actual);
    // Sequences without rows in a piece keep their slot: not used in cases with cuts.
    swapped = !swapped;
  }
  const double tolerance = Tolerance(c.dtype);
  ExpectNear(actual, expected, tolerance, "o");
  const Floats all = state.Values(), all_starts = start.Values(), all_logs = log.Values();
  for (int64_t s = 0; s < sequences; ++s) {
    if (c.lengths[s] == 0) continue;
    const auto slot = [&](const Floats& from, int64_t floats) {
      const int64_t at = (2 * s + (swapped ? 1 : 0)) * floats;
      return Floats(from.begin() + at, from.begin() + at + floats);
    };
    ExpectNear(slot(all, size), end_states[s], tolerance, "state " + std::to_string(s));
    if (!c.nats || (c.first + c.lengths[s]) % 64 == 0) continue;
    ExpectNear(slot(all_starts, size), end_starts[s], tolerance, "start " + std::to_string(s));
    ExpectNear(slot(all_logs, c.value_heads), end_logs[s], 1e-5, "log decay");
  }
}

TEST_F(DeltaRuleCuda, Lengths) {
  for (const DType dtype : kTypes) {
    for (const int64_t length : {1, 15, 63, 64, 65, 131, 1003}) {
      for (const Decay decay : {Decay::kNone, Decay::kWeak, Decay::kMixed}) {
        DeltaCase c;
        c.dtype = dtype;
        c.key_dim = 128;
        c.value_dim = 128;
        c.lengths = {length};
        c.decay = decay;
        RunDeltaCase(c, static_cast<uint64_t>(length));
      }
    }
  }
}

TEST_F(DeltaRuleCuda, PackedSizesAndNormalization) {
  for (const DType dtype : kTypes) {
    for (const auto& [key_dim, value_dim] : {std::pair<int64_t, int64_t>{16, 8},
                                             {24, 40},
                                             {64, 64},
                                             {128, 256},
                                             {192, 128},
                                             {256, 512}}) {
      DeltaCase c;
      c.dtype = dtype;
      c.value_heads = 4;
      c.key_dim = key_dim;
      c.value_dim = value_dim;
      c.lengths = {5, 0, 64, 131, 1, 0, 200};
      c.normalize = true;
      RunDeltaCase(c, 77);
    }
  }
}

TEST_F(DeltaRuleCuda, PiecesAndSteps) {
  for (const DType dtype : kTypes) {
    DeltaCase c;
    c.dtype = dtype;
    c.key_dim = c.value_dim = 64;
    c.lengths = {200, 200};
    for (const std::vector<int64_t>& cuts :
         std::vector<std::vector<int64_t>>{{1}, {63, 64, 65}, {100, 101, 102, 180}}) {
      c.cuts = cuts;
      RunDeltaCase(c, 5);
      c.nats = true;
      c.first = 40;
      RunDeltaCase(c, 6);
      c.nats = false;
      c.first = 0;
    }
  }
}

TEST_F(DeltaRuleCuda, NatsChunks) {
  for (const DType dtype : kTypes) {
    for (const int64_t first : {0, 1, 40, 63, 1000}) {
      for (const bool decay_over : {false, true}) {
        for (const OwnChunkRule rule : {OwnChunkRule::kAll, OwnChunkRule::kPastOnly}) {
          DeltaCase c;
          c.dtype = dtype;
          c.key_dim = 128;
          c.value_dim = 64;
          c.lengths = {300, 23, 64, 1};
          c.nats = true;
          c.first = first;
          c.decay_over = decay_over;
          c.own_chunk = rule;
          RunDeltaCase(c, 9);
        }
      }
    }
  }
}

// Long enough to be cut into segments, with and without a decay that wipes the past.
TEST_F(DeltaRuleCuda, LongSequences) {
  for (const Decay decay : {Decay::kNone, Decay::kWeak, Decay::kStrong, Decay::kMixed}) {
    for (const bool nats : {false, true}) {
      DeltaCase c;
      c.dtype = DType::kBFloat16;
      c.heads = c.value_heads = 1;
      c.key_dim = c.value_dim = 128;
      c.lengths = {6000, 100};
      c.decay = decay;
      c.nats = nats;
      c.first = nats ? 17 : 0;
      RunDeltaCase(c, 21);
      c.decay_over = false;
      if (nats) RunDeltaCase(c, 22);
    }
  }
}

struct LinearCase {
  DType dtype = DType::kFloat32;
  DecayKind kind = DecayKind::kVectorPerToken;
  int64_t heads = 2, q_heads = 2, kv_heads = 2, v_heads = 2, key_dim = 32, value_dim = 48;
  std::vector<int64_t> lengths;
  Decay decay = Decay::kWeak;
  bool bonus = false, steps = false;
};

void RunLinearCase(const LinearCase& c, uint64_t seed) {
  SCOPED_TRACE(::testing::Message()
               << "dtype " << core::Name(c.dtype) << " kind " << int(c.kind) << " dims "
               << c.key_dim << " x " << c.value_dim << " first length " << c.lengths[0] << " decay "
               << int(c.decay) << " bonus " << c.bonus);
  Random random(seed);
  const int64_t tokens = Sum(c.lengths), sequences = static_cast<int64_t>(c.lengths.size());
  const int64_t size = c.heads * c.key_dim * c.value_dim;
  const Floats q = Rounded(c.dtype, random.Normals(tokens * c.q_heads * c.key_dim, 0.3f));
  const Floats k = Rounded(c.dtype, random.Normals(tokens * c.kv_heads * c.key_dim, 0.3f));
  const Floats v = Rounded(c.dtype, random.Normals(tokens * c.v_heads * c.value_dim));
  const Floats g =
      LogDecays(random,
                c.kind == DecayKind::kScalarPerHead    ? c.heads
                : c.kind == DecayKind::kScalarPerToken ? tokens * c.heads
                                                       : tokens * c.kv_heads * c.key_dim,
                c.decay);
  const Floats bonus = random.Normals(c.heads * c.key_dim);
  std::vector<Floats> states;
  for (int64_t s = 0; s < sequences; ++s) states.push_back(random.Normals(size, 0.3f));
  std::vector<Floats> end_states = states;
  Floats expected(static_cast<size_t>(tokens * c.heads * c.value_dim));
  const std::vector<int64_t> offsets = Offsets(c.lengths);
  const std::vector<float*> pointers = Pointers(end_states);
  kernels::LinearAttentionArgs reference;
  reference.q = q.data();
  reference.k = k.data();
  reference.v = v.data();
  reference.q_stride = c.q_heads * c.key_dim;
  reference.k_stride = c.kv_heads * c.key_dim;
  reference.v_stride = c.v_heads * c.value_dim;
  reference.g = g.data();
  reference.decay = c.kind;
  reference.bonus = c.bonus ? bonus.data() : nullptr;
  reference.o = expected.data();
  reference.states = pointers.data();
  reference.offsets = offsets.data();
  reference.sequences = sequences;
  reference.heads = c.heads;
  reference.q_heads = c.q_heads;
  reference.kv_heads = c.kv_heads;
  reference.v_heads = c.v_heads;
  reference.key_dim = c.key_dim;
  reference.value_dim = c.value_dim;
  reference.scale = 0.125;
  kernels::RunLinearAttentionReference(reference);

  const Activations dq(c.dtype, q), dk(c.dtype, k), dv(c.dtype, v);
  const Activations o(c.dtype, static_cast<int64_t>(expected.size()));
  const Array<float> dg(g), dbonus(bonus), state(InEvenSlots(states));
  const PlannedBatch batch(offsets, std::vector<int64_t>(c.lengths.size(), 0));
  const Slots slots(sequences);
  LinearAttentionArgs args;
  args.dtype = c.dtype;
  args.q = dq.data();
  args.k = dk.data();
  args.v = dv.data();
  args.q_stride = reference.q_stride;
  args.k_stride = reference.k_stride;
  args.v_stride = reference.v_stride;
  args.g = dg.data();
  args.decay = c.kind;
  args.bonus = c.bonus ? dbonus.data() : nullptr;
  args.o = o.data();
  args.o_stride = c.heads * c.value_dim;
  args.state = state.data();
  args.slots = slots.get();
  args.plan = c.steps ? nullptr : &batch.plan;
  args.sequences = sequences;
  args.heads = c.heads;
  args.q_heads = c.q_heads;
  args.kv_heads = c.kv_heads;
  args.v_heads = c.v_heads;
  args.key_dim = c.key_dim;
  args.value_dim = c.value_dim;
  args.scale = reference.scale;
  const Memory workspace(static_cast<size_t>(LinearAttentionWorkspaceBytes(args)));
  args.workspace = workspace.data();
  RunLinearAttention(args, nullptr);
  Synchronize();
  ExpectNear(o.Values(), expected, Tolerance(c.dtype), "o");
  const Floats all = state.Values();
  for (int64_t s = 0; s < sequences; ++s) {
    if (c.lengths[s] == 0) continue;
    const auto at = all.begin() + (2 * s + 1) * size;
    ExpectNear(Floats(at, at + size), end_states[s], Tolerance(c.dtype), "state");
  }
}

TEST_F(LinearAttentionCuda, EveryDecay) {
  for (const DType dtype : kTypes) {
    for (const DecayKind kind :
         {DecayKind::kScalarPerHead, DecayKind::kScalarPerToken, DecayKind::kVectorPerToken}) {
      for (const int64_t length : {1, 16, 63, 64, 65, 131, 1003}) {
        for (const Decay decay : {Decay::kWeak, Decay::kMixed}) {
          LinearCase c;
          c.dtype = dtype;
          c.kind = kind;
          c.key_dim = 128;
          c.value_dim = 64;
          c.lengths = {length};
          c.decay = decay;
          RunLinearCase(c, static_cast<uint64_t>(length));
          c.bonus = kind == DecayKind::kVectorPerToken;
          if (c.bonus) RunLinearCase(c, static_cast<uint64_t>(length));
        }
      }
    }
  }
}

TEST_F(LinearAttentionCuda, PackedSizesAndSharedHeads) {
  for (const DType dtype : kTypes) {
    for (const auto& [key_dim, value_dim] :
         {std::pair<int64_t, int64_t>{16, 8}, {24, 40}, {64, 64}, {128, 256}, {256, 512}}) {
      LinearCase c;
      c.dtype = dtype;
      c.heads = 4;
      c.kv_heads = c.v_heads = 2;
      c.q_heads = 4;
      c.key_dim = key_dim;
      c.value_dim = value_dim;
      c.lengths = {5, 0, 64, 131, 1, 200};
      RunLinearCase(c, 31);
      c.kind = DecayKind::kScalarPerToken;
      c.q_heads = c.kv_heads = 1;
      c.v_heads = 4;
      RunLinearCase(c, 32);
    }
    LinearCase steps;
    steps.dtype = dtype;
    steps.lengths = {1, 1, 1};
    steps.steps = true;
    RunLinearCase(steps, 33);
    steps.bonus = true;
    RunLinearCase(steps, 34);
  }
}

TEST_F(LinearAttentionCuda, LongSequences) {
  for (const DecayKind kind :
       {DecayKind::kScalarPerHead, DecayKind::kScalarPerToken, DecayKind::kVectorPerToken}) {
    for (const Decay decay : {Decay::kNone, Decay::kWeak, Decay::kMixed}) {
      LinearCase c;
      c.dtype = DType::kBFloat16;
      c.kind = kind;
      c.heads = c.q_heads = c.kv_heads = c.v_heads = 1;
      c.key_dim = c.value_dim = 128;
      c.lengths = {6000, 100};
      c.decay = decay;
      RunLinearCase(c, 41);
    }
  }
}

TEST_F(ScanCuda, LengthsAndPieces) {
  for (const DType dtype : kTypes) {
    for (const int64_t channels : {7, 136}) {
      for (const std::vector<int64_t>& lengths : std::vector<std::vector<int64_t>>{
               {1}, {63}, {64}, {65}, {131}, {3000}, {5, 0, 64, 131, 1}, {1, 1, 1}}) {
        for (const bool steps : {false, true}) {
          if (steps && Sum(lengths) != static_cast<int64_t>(lengths.size())) continue;
          Random random(3);
          const int64_t tokens = Sum(lengths), sequences = static_cast<int64_t>(lengths.size());
          const Floats x = Rounded(dtype, random.Normals(tokens * channels));
          const Floats g = LogDecays(random, tokens * channels, Decay::kMixed);
          std::vector<Floats> states;
          for (int64_t s = 0; s < sequences; ++s) states.push_back(random.Normals(channels));
          std::vector<Floats> end_states = states;
          Floats expected(x.size());
          const std::vector<int64_t> offsets = Offsets(lengths);
          const std::vector<float*> pointers = Pointers(end_states);
          kernels::ScanArgs reference;
          reference.x = x.data();
          reference.g = g.data();
          reference.o = expected.data();
          reference.states = pointers.data();
          reference.offsets = offsets.data();
          reference.sequences = sequences;
          reference.channels = channels;
          kernels::RunScanReference(reference);
          const Activations dx(dtype, x), o(dtype, static_cast<int64_t>(x.size()));
          const Array<float> dg(g), state(InEvenSlots(states));
          const PlannedBatch batch(offsets, std::vector<int64_t>(lengths.size(), 0));
          const Slots slots(sequences);
          ScanArgs args;
          args.dtype = dtype;
          args.x = dx.data();
          args.g = dg.data();
          args.o = o.data();
          args.x_stride = args.o_stride = args.channels = channels;
          args.state = state.data();
          args.slots = slots.get();
          args.plan = steps ? nullptr : &batch.plan;
          args.sequences = sequences;
          const Memory workspace(static_cast<size_t>(ScanWorkspaceBytes(args)));
          args.workspace = workspace.data();
          RunScan(args, nullptr);
          Synchronize();
          ExpectNear(o.Values(), expected, Tolerance(dtype), "o");
          const Floats all = state.Values();
          for (int64_t s = 0; s < sequences; ++s) {
            if (lengths[s] == 0) continue;
            const auto at = all.begin() + (2 * s + 1) * channels;
            ExpectNear(Floats(at, at + channels), end_states[s], 2e-5, "state");
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace natsl::kernels::cuda
