// Fused decode steps against the kernels that they replace, one after the other.
#include <algorithm>

#include "kernels/cuda/attention_step.h"
#include "kernels/cuda/delta_step.h"
#include "kernels/cuda/elementwise.h"
#include "kernels/cuda/norm.h"
#include "kernels/cuda/short_conv.h"
#include "tests/kernels/cuda/recurrent_support.h"

namespace natsl::kernels::cuda {
namespace {

using namespace testing;

class StepCuda : public CudaTest {};

struct DeltaCase {
  DType dtype = DType::kFloat32;
  int64_t heads = 2, key_dim = 32, value_dim = 48;
  bool nats = false, gates = true, bias = false;
  OwnChunkRule own_chunk = OwnChunkRule::kAll;
  bool fork = false;  ///< writes other slots than it reads
  std::vector<int64_t> positions = {0, 62, 200};
};

// Everything that a step changes.
struct DeltaMemory {
  DeltaMemory(const DeltaCase& c, uint64_t seed, int64_t slots, int64_t channels) : random(seed) {
    const int64_t size = c.heads * c.key_dim * c.value_dim;
    tails = std::make_unique<Array<float>>(random.Normals(slots * 3 * channels));
    state = std::make_unique<Array<float>>(random.Normals(slots * size, 0.3f));
    start = std::make_unique<Array<float>>(random.Normals(slots * size, 0.3f));
    log = std::make_unique<Array<float>>(random.Uniforms(slots * c.heads, -1, 0));
  }
  Random random;
  std::unique_ptr<Array<float>> tails, state, start, log;
};

void RunDeltaCase(const DeltaCase& c) {
  SCOPED_TRACE(::testing::Message() << core::Name(c.dtype) << " " << c.key_dim << " x "
                                    << c.value_dim << " nats " << c.nats << " fork " << c.fork);
  const auto sequences = static_cast<int64_t>(c.positions.size());
  const int64_t keys = c.heads * c.key_dim, values = c.heads * c.value_dim;
  const int64_t channels = 2 * keys + values, width = channels + 2 * c.heads + 6;
  const int64_t slots = 2 * sequences;
  DeltaMemory fused(c, 3, slots, channels), apart(c, 3, slots, channels);
  Random random(8);
  const Array<float> weight(random.Normals(channels * 4, 0.5f)), bias(random.Normals(channels));
  const Array<float> negative_a(random.Uniforms(c.heads, -2, -0.5f));
  const Array<float> dt_bias(random.Normals(c.heads));
  const Array<int64_t> first(c.positions);
  std::vector<int32_t> read, write;
  for (int32_t s = 0; s < sequences; ++s) {
    read.push_back(s);
    write.push_back(c.fork ? s + static_cast<int32_t>(sequences) : s);
  }
  const Array<int32_t> read_slots(read), write_slots(write);
  std::vector<uint8_t> flags;
  for (int64_t i = 0; i < sequences * c.heads; ++i) flags.push_back(i % 3 == 0 ? 1 : 0);
  const Array<uint8_t> softmax(flags);
  const double scale = 1 / std::sqrt(static_cast<double>(c.key_dim));
  const auto nats_of = [&](const DeltaMemory& memory) {
    NatsDelta nats;
    nats.chunk_start = memory.start->data();
    nats.chunk_log_decay = memory.log->data();
    nats.softmax = softmax.data();
    nats.softmax_heads = c.heads;
    nats.decay_over_softmax_chunks = true;
    nats.own_chunk = c.own_chunk;
    return nats;
  };
  std::vector<int64_t> positions = c.positions;
  for (int step = 0; step < 3; ++step) {
    const Array<int64_t> device_positions(positions);
    const Activations x(c.dtype, Rounded(c.dtype, random.Normals(sequences * width)));
    const auto column = [&](int64_t at) {
      return static_cast<char*>(x.data()) + at * core::ByteSize(c.dtype);
    };
    const Activations fused_o(c.dtype, sequences * values), o(c.dtype, sequences * values);
    const Activations fused_mixed(c.dtype, sequences * channels);
    const Activations mixed(c.dtype, sequences * channels);

    const NatsDelta fused_nats = nats_of(fused);
    DeltaStepArgs args;
    args.dtype = c.dtype;
    args.x = x.data();
    args.x_stride = width;
    args.k_at = keys;
    args.v_at = 2 * keys;
    args.conv_weight = weight.data();
    args.conv_bias = c.bias ? bias.data() : nullptr;
    args.tails = fused.tails->data();
    args.channels = channels;
    args.mixed = fused_mixed.data();
    args.mixed_stride = channels;
    if (c.gates) {
      args.a = column(channels);
      args.b = column(channels + c.heads);
      args.a_stride = args.b_stride = width;
      args.negative_a = negative_a.data();
      args.dt_bias = dt_bias.data();
    }
    args.o = fused_o.data();
    args.o_stride = values;
    args.state = fused.state->data();
    args.slots = {read_slots.data(), write_slots.data()};
    args.nats = c.nats ? &fused_nats : nullptr;
    args.positions = device_positions.data();
    args.sequences = sequences;
    args.heads = c.heads;
    args.key_dim = c.key_dim;
    args.value_dim = c.value_dim;
    args.scale = scale;
    if (!DeltaStepFits(args)) GTEST_SKIP() << "needs a Hopper GPU";
    RunDeltaStep(args, nullptr);

    ShortConvArgs conv;
    conv.dtype = c.dtype;
    conv.x = x.data();
    conv.x_stride = width;
    conv.weight = weight.data();
    conv.bias = args.conv_bias;
    conv.activation = ActivationKind::kSilu;
    conv.y = mixed.data();
    conv.y_stride = conv.channels = channels;
    conv.tails = apart.tails->data();
    conv.slots = args.slots;
    conv.sequences = conv.tokens = sequences;
    conv.width = 4;
    RunShortConv(conv, nullptr);
    const Array<float> g(sequences * c.heads), beta(sequences * c.heads);
    DeltaGateArgs gates;
    gates.dtype = c.dtype;
    gates.rows = sequences;
    gates.heads = c.heads;
    gates.a = args.a;
    gates.b = args.b;
    gates.a_stride = gates.b_stride = width;
    gates.negative_a = negative_a.data();
    gates.dt_bias = dt_bias.data();
    gates.g = g.data();
    gates.beta = beta.data();
    if (c.gates) RunDeltaGates(gates, nullptr);
    const NatsDelta nats = nats_of(apart);
    DeltaRuleArgs rule;
    rule.dtype = c.dtype;
    const auto mixed_column = [&](int64_t at) {
      return static_cast<char*>(mixed.data()) + at * core::ByteSize(c.dtype);
    };
    rule.q = mixed_column(0);
    rule.k = mixed_column(keys);
    rule.v = mixed_column(2 * keys);
    rule.q_stride = rule.k_stride = rule.v_stride = channels;
    rule.normalize_qk = true;
    rule.g = c.gates ? g.data() : nullptr;
    rule.beta = c.gates ? beta.data() : nullptr;
    rule.o = o.data();
    rule.o_stride = values;
    rule.state = apart.state->data();
    rule.slots = args.slots;
    rule.nats = c.nats ? &nats : nullptr;
    rule.positions = device_positions.data();
    rule.sequences = sequences;
    rule.heads = rule.value_heads = c.heads;
    rule.key_dim = c.key_dim;
    rule.value_dim = c.value_dim;
    rule.scale = scale;
    RunDeltaRule(rule, nullptr);
    Synchronize();
    const double rounding = c.dtype == DType::kFloat32 ? 2e-6 : 4e-3;
    ExpectNear(fused_mixed.Values(), mixed.Values(), rounding, "convolved");
    ExpectNear(fused_o.Values(), o.Values(), rounding, "o");
    ExpectNear(fused.state->Values(), apart.state->Values(), rounding, "state");
    EXPECT_EQ(fused.tails->Values(), apart.tails->Values());
    if (c.nats) {
      ExpectNear(fused.start->Values(), apart.start->Values(), rounding, "chunk start");
      ExpectNear(fused.log->Values(), apart.log->Values(), 1e-5, "log decay");
    }
    for (int64_t& position : positions) ++position;
  }
}

TEST_F(StepCuda, DeltaRuleEqualsItsKernels) {
  for (const DType dtype : kTypes) {
    for (const auto& [key_dim, value_dim] : {std::pair<int64_t, int64_t>{32, 64},
                                             {24, 40},
                                             {128, 256},
                                             {128, 128},
                                             {96, 200},
                                             {256, 256}}) {
      DeltaCase c;
      c.dtype = dtype;
      c.heads = 3;
      c.key_dim = key_dim;
      c.value_dim = value_dim;
      RunDeltaCase(c);
      c.fork = c.bias = true;
      RunDeltaCase(c);
      c.fork = false;
      c.nats = true;
      RunDeltaCase(c);
      c.own_chunk = OwnChunkRule::kPastOnly;
      RunDeltaCase(c);
      c.gates = false;
      RunDeltaCase(c);
    }
  }
}

TEST_F(StepCuda, AttentionNormsAndRotatesAsItsKernels) {
  for (const DType dtype : kTypes) {
    for (const int64_t dims : {0, 24, 64}) {
      constexpr int64_t kSequences = 3, kHeads = 4, kShare = 2, kDim = 64, kPages = 8;
      Random random(static_cast<uint64_t>(dims));
      const int64_t queries = kHeads * kShare;
      const Activations q(dtype, Rounded(dtype, random.Normals(kSequences * queries * kDim)));
      const Activations k(dtype, Rounded(dtype, random.Normals(kSequences * kHeads * kDim)));
      const Activations v(dtype, Rounded(dtype, random.Normals(kSequences * kHeads * kDim)));
      const Array<float> q_weight(random.Normals(kDim)), k_weight(random.Normals(kDim));
      const Array<float> frequencies(random.Uniforms(std::max<int64_t>(dims / 2, 1), 0, 1));
      const Array<int64_t> positions(std::vector<int64_t>{0, 17, 4000});
      const auto bytes = static_cast<size_t>(kPages * kHeads * 64 * kDim * core::ByteSize(dtype));
      const Memory keys(bytes), values(bytes);
      const Array<int32_t> pages(std::vector<int32_t>(kSequences * 2, -1));
      const Array<int32_t> counts(std::vector<int32_t>(kSequences, 0));
      const Array<int32_t> free(std::vector<int32_t>{0, 1, 2, 3, 4, 5, 6, 7});
      const Array<int32_t> free_count(std::vector<int32_t>{kPages});
      const Array<int32_t> slots(std::vector<int32_t>{2, 0, 1});
      const Activations q_out(dtype, kSequences * queries * kDim);
      AttentionStepArgs args;
      args.pool = {dtype, keys.data(), values.data(), kHeads, kDim, kDim};
      args.table = {pages.data(), counts.data(), 1, 2, free.data(), free_count.data()};
      args.slots = slots.data();
      args.q = q.data();
      args.q_stride = queries * kDim;
      args.k = k.data();
      args.v = v.data();
      args.k_stride = args.v_stride = kHeads * kDim;
      args.q_out = q_out.data();
      args.sequences = kSequences;
      args.query_heads = queries;
      args.normalize = true;
      args.one_plus = true;
      args.q_weight = q_weight.data();
      args.k_weight = k_weight.data();
      args.q_eps = args.k_eps = 1e-6;
      args.inverse_frequencies = dims > 0 ? frequencies.data() : nullptr;
      args.rotary_dims = dims;
      args.attention_factor = 0.9;
      args.positions = positions.data();
      RunAttentionStep(args, nullptr);

      const auto expected = [&](const Activations& x, int64_t heads, const float* weight) {
        NormArgs norm;
        norm.op = NormOp::kRmsOnePlus;
        norm.dtype = dtype;
        norm.x = norm.y = x.data();
        norm.x_stride = norm.y_stride = heads * kDim;
        norm.weight = weight;
        norm.rows = kSequences;
        norm.groups = heads;
        norm.width = kDim;
        RunNorm(norm, nullptr);
        RopeArgs rope;
        rope.dtype = dtype;
        rope.x = x.data();
        rope.x_stride = heads * kDim;
        rope.positions = positions.data();
        rope.inverse_frequencies = frequencies.data();
        rope.attention_factor = 0.9;
        rope.tokens = kSequences;
        rope.heads = heads;
        rope.head_dim = kDim;
        rope.dims = dims;
        if (dims > 0) RunRope(rope, nullptr);
        Synchronize();
        return x.Values();
      };
      const double rounding = dtype == DType::kFloat32 ? 1e-6 : 4e-3;
      Synchronize();
      ExpectNear(q_out.Values(), expected(q, queries, q_weight.data()), rounding, "q");
      const Floats k_rows = expected(k, kHeads, k_weight.data()), v_rows = v.Values();
      const std::vector<int32_t> held = pages.Values();
      EXPECT_EQ(counts.Values(), (std::vector<int32_t>{1, 1, 1}));
      EXPECT_EQ(free_count.Values()[0], kPages - 3);
      const auto row_of = [&](const Memory& memory, int64_t page, int64_t head) {
        std::vector<uint16_t> half(kDim);
        Floats row(kDim);
        const auto at = (page * kHeads + head) * 64 * kDim * core::ByteSize(dtype);
        void* to = dtype == DType::kFloat32 ? static_cast<void*>(row.data()) : half.data();
        Check(cudaMemcpy(to, static_cast<char*>(memory.data()) + at,
                         static_cast<size_t>(kDim * core::ByteSize(dtype)), cudaMemcpyDeviceToHost),
              "copy");
        if (dtype != DType::kFloat32)
          std::transform(half.begin(), half.end(), row.begin(), FromBits);
        return row;
      };
      for (int64_t s = 0; s < kSequences; ++s) {
        const int64_t page = held[static_cast<size_t>(slots.Values()[s] * 2)];
        ASSERT_GE(page, 0);
        for (int64_t h = 0; h < kHeads; ++h) {
          const auto at = (s * kHeads + h) * kDim;
          ExpectNear(row_of(keys, page, h), Floats(k_rows.begin() + at, k_rows.begin() + at + kDim),
                     rounding, "key");
          EXPECT_EQ(row_of(values, page, h),
                    Floats(v_rows.begin() + at, v_rows.begin() + at + kDim));
        }
      }
    }
  }
}

}  // namespace
}  // namespace natsl::kernels::cuda
