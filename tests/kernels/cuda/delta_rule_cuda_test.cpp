// The delta rule on the device against its definition: whole sequences, packed batches, pieces with
// carried state, decode steps, NAtS-L chunks.
#include "kernels/cuda/delta_rule.h"
#include "tests/kernels/cuda/recurrent_support.h"

namespace natsl::kernels::cuda {
namespace {

using namespace testing;
using kernels::testing::Decay;
using kernels::testing::Gather;
using kernels::testing::LogDecays;
using kernels::testing::Scatter;
using kernels::testing::Sum;

class DeltaRuleCuda : public CudaTest {};

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
  std::vector<Floats> states_before, starts_before, logs_before;
  std::vector<std::vector<uint8_t>> softmax;  // a chunk and head, whole sequence
  for (const int64_t length : c.lengths) {
    states_before.push_back(random.Normals(size, 0.3f));
    starts_before.push_back(random.Normals(size, 0.3f));
    logs_before.push_back(random.Uniforms(c.value_heads, -1, 0));
    std::vector<uint8_t> flags;
    for (int64_t i = 0; i < (length / 64 + 2) * c.value_heads; ++i) {
      flags.push_back(random.Uniform(0, 1) < c.softmax_share ? 1 : 0);
    }
    softmax.push_back(flags);
  }
  const States state(states_before), start(starts_before), log(logs_before);

  // The definition, over the whole sequences.
  Floats reference_q = q, reference_k = k;
  if (c.normalize) {
    normalize(reference_q);
    normalize(reference_k);
  }
  Floats expected(v.size());
  std::vector<kernels::NatsDeltaState> nats(c.lengths.size());
  std::vector<std::vector<uint8_t>> keep = softmax;
  for (size_t s = 0; s < keep.size(); ++s) {
    for (uint8_t& flag : keep[s]) flag = flag == 0 ? 1 : 0;
    nats[s] = {start.reference()[s], log.reference()[s], c.first, keep[s].data()};
  }
  const std::vector<int64_t> offsets = Offsets(c.lengths);
  const auto set_sizes = [&](auto& args) {
    args.sequences = sequences;
    args.heads = c.heads;
    args.value_heads = c.value_heads;
    args.key_dim = c.key_dim;
    args.value_dim = c.value_dim;
    args.v_stride = values;
    args.scale = 1 / std::sqrt(static_cast<double>(c.key_dim));
  };
  kernels::DeltaRuleArgs reference;
  set_sizes(reference);
  reference.q = reference_q.data();
  reference.k = reference_k.data();
  reference.v = v.data();
  reference.q_stride = reference.k_stride = qk;
  reference.g = g.data();
  reference.beta = beta.data();
  reference.o = expected.data();
  reference.states = state.reference();
  reference.nats = c.nats ? nats.data() : nullptr;
  reference.decay_over_softmax_chunks = c.decay_over;
  reference.own_chunk = c.own_chunk;
  reference.offsets = offsets.data();
  kernels::RunDeltaRuleReference(reference);

  // The device, piece by piece. A piece of one row a sequence is a decode step.
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
    nats_args.chunk_start = start.device();
    nats_args.chunk_log_decay = log.device();
    nats_args.softmax = device_flags.data();
    nats_args.softmax_heads = c.value_heads;
    nats_args.decay_over_softmax_chunks = c.decay_over;
    nats_args.own_chunk = c.own_chunk;
    DeltaRuleArgs args;
    set_sizes(args);
    args.dtype = c.dtype;
    args.q = qk_rows.data();
    args.k = static_cast<char*>(qk_rows.data()) + qk * core::ByteSize(c.dtype);
    args.q_stride = args.k_stride = 2 * qk;
    args.v = v_rows.data();
    args.normalize_qk = c.normalize;
    args.g = g_rows.data();
    args.beta = beta_rows.data();
    args.o = o.data();
    args.o_stride = values;
    args.state = state.device();
    args.slots = slots.get();
    args.nats = c.nats ? &nats_args : nullptr;
    args.plan = step ? nullptr : &batch.plan;
    args.positions = batch.device_first.data();
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
  for (int64_t s = 0; s < sequences; ++s) {
    if (c.lengths[s] == 0) continue;
    state.Expect(s, swapped, tolerance, "state");
    if (!c.nats || (c.first + c.lengths[s]) % 64 == 0) continue;
    start.Expect(s, swapped, tolerance, "start");
    log.Expect(s, swapped, 1e-5, "log decay");
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

class NatsDeltaCuda : public CudaTest,
                      public ::testing::WithParamInterface<std::tuple<DType, int64_t>> {};

TEST_P(NatsDeltaCuda, Chunks) {
  for (const bool decay_over : {false, true}) {
    for (const OwnChunkRule rule : {OwnChunkRule::kAll, OwnChunkRule::kPastOnly}) {
      DeltaCase c;
      c.dtype = std::get<0>(GetParam());
      c.key_dim = 128;
      c.value_dim = 64;
      c.lengths = {300, 23, 64, 1};
      c.nats = true;
      c.first = std::get<1>(GetParam());
      c.decay_over = decay_over;
      c.own_chunk = rule;
      RunDeltaCase(c, 9);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(From, NatsDeltaCuda,
                         ::testing::Combine(::testing::ValuesIn(kTypes),
                                            ::testing::Values(0, 1, 40, 63, 1000)),
                         kNamed);

class LongDeltaCuda : public CudaTest, public ::testing::WithParamInterface<int64_t> {};

// Long enough to be cut into segments, with and without a decay that wipes the past.
TEST_P(LongDeltaCuda, SegmentsAreJoined) {
  for (const bool nats : {false, true}) {
    DeltaCase c;
    c.dtype = DType::kBFloat16;
    c.heads = c.value_heads = 1;
    c.key_dim = c.value_dim = 128;
    c.lengths = {6000, 100};
    c.decay = static_cast<Decay>(GetParam());
    c.nats = nats;
    c.first = nats ? 17 : 0;
    RunDeltaCase(c, 21);
    c.decay_over = false;
    if (nats) RunDeltaCase(c, 22);
  }
}

INSTANTIATE_TEST_SUITE_P(Decay, LongDeltaCuda,
                         ::testing::Values(int64_t(Decay::kNone), int64_t(Decay::kWeak),
                                           int64_t(Decay::kStrong), int64_t(Decay::kMixed)),
                         kNamed);

}  // namespace
}  // namespace natsl::kernels::cuda
