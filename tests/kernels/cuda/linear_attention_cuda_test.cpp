// Linear attention on the device against its definition: every kind of decay, packed batches,
// decode steps.
#include "kernels/cuda/linear_attention.h"
#include "tests/kernels/cuda/recurrent_support.h"

namespace natsl::kernels::cuda {
namespace {

using namespace testing;
using kernels::testing::Decay;
using kernels::testing::LogDecays;
using kernels::testing::Sum;

class LinearAttentionCuda : public CudaTest {};

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
  std::vector<Floats> before;
  for (int64_t s = 0; s < sequences; ++s) before.push_back(random.Normals(size, 0.3f));
  const States state(before);
  Floats expected(static_cast<size_t>(tokens * c.heads * c.value_dim));
  const std::vector<int64_t> offsets = Offsets(c.lengths);
  const auto set_sizes = [&](auto& args) {
    args.sequences = sequences;
    args.heads = c.heads;
    args.q_heads = c.q_heads;
    args.kv_heads = c.kv_heads;
    args.v_heads = c.v_heads;
    args.key_dim = c.key_dim;
    args.value_dim = c.value_dim;
    args.q_stride = c.q_heads * c.key_dim;
    args.k_stride = c.kv_heads * c.key_dim;
    args.v_stride = c.v_heads * c.value_dim;
    args.decay = c.kind;
    args.scale = 0.125;
  };
  kernels::LinearAttentionArgs reference;
  set_sizes(reference);
  reference.q = q.data();
  reference.k = k.data();
  reference.v = v.data();
  reference.g = g.data();
  reference.bonus = c.bonus ? bonus.data() : nullptr;
  reference.o = expected.data();
  reference.states = state.reference();
  reference.offsets = offsets.data();
  kernels::RunLinearAttentionReference(reference);

  const Activations dq(c.dtype, q), dk(c.dtype, k), dv(c.dtype, v);
  const Activations o(c.dtype, static_cast<int64_t>(expected.size()));
  const Array<float> dg(g), dbonus(bonus);
  const PlannedBatch batch(offsets, std::vector<int64_t>(c.lengths.size(), 0));
  const Slots slots(sequences);
  LinearAttentionArgs args;
  set_sizes(args);
  args.dtype = c.dtype;
  args.q = dq.data();
  args.k = dk.data();
  args.v = dv.data();
  args.g = dg.data();
  args.bonus = c.bonus ? dbonus.data() : nullptr;
  args.o = o.data();
  args.o_stride = c.heads * c.value_dim;
  args.state = state.device();
  args.slots = slots.get();
  args.plan = c.steps ? nullptr : &batch.plan;
  const Memory workspace(static_cast<size_t>(LinearAttentionWorkspaceBytes(args)));
  args.workspace = workspace.data();
  RunLinearAttention(args, nullptr);
  Synchronize();
  ExpectNear(o.Values(), expected, Tolerance(c.dtype), "o");
  for (int64_t s = 0; s < sequences; ++s) {
    if (c.lengths[s] > 0) state.Expect(s, /*odd=*/true, Tolerance(c.dtype), "state");
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

class LongLinearCuda : public CudaTest, public ::testing::WithParamInterface<int64_t> {};

TEST_P(LongLinearCuda, SegmentsAreJoined) {
  for (const Decay decay : {Decay::kNone, Decay::kWeak, Decay::kMixed}) {
    LinearCase c;
    c.dtype = DType::kBFloat16;
    c.kind = static_cast<DecayKind>(GetParam());
    c.heads = c.q_heads = c.kv_heads = c.v_heads = 1;
    c.key_dim = c.value_dim = 128;
    c.lengths = {6000, 100};
    c.decay = decay;
    RunLinearCase(c, 41);
  }
}

INSTANTIATE_TEST_SUITE_P(Kind, LongLinearCuda,
                         ::testing::Values(int64_t(DecayKind::kScalarPerHead),
                                           int64_t(DecayKind::kScalarPerToken),
                                           int64_t(DecayKind::kVectorPerToken)),
                         kNamed);

}  // namespace
}  // namespace natsl::kernels::cuda
