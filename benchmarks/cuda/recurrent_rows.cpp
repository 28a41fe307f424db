// natsl-kernel-bench: the recurrent mixers. A row first compares bfloat16 outputs of a short case
// with the float32 recurrence and fails where they differ.
#include "benchmarks/cuda/bench_support.h"
#include "kernels/cuda/delta_rule.h"
#include "kernels/cuda/linear_attention.h"
#include "kernels/cuda/scan.h"

namespace natsl::kernels::cuda::bench {
namespace {

struct Shape {
  int64_t heads, q_heads, key_dim, value_dim;
  float decay;  ///< log decays in (-decay, 0); 0: none
};

// What one call of a mixer needs, for `tokens` rows; `decays` numbers of decay.
template <typename Args>
struct Setup {
  Setup(const Shape& shape, DType dtype, int64_t tokens, bool step, float qk_scale, int64_t decays)
      : plan(tokens),
        values(tokens * shape.heads * shape.value_dim),
        q(Normals(tokens * shape.q_heads * shape.key_dim, dtype, qk_scale)),
        // Another count, other values.
        k(Normals(tokens * shape.q_heads * shape.key_dim + 1, dtype, qk_scale)),
        v(Normals(values, dtype)),
        g(Uniforms(decays, DType::kFloat32, -shape.decay, 0)),
        o(values * core::ByteSize(dtype)),
        state(Normals(2 * shape.heads * shape.key_dim * shape.value_dim, DType::kFloat32)),
        // Read slot 0, write slot 1: every run does the same.
        read(Upload(std::vector<int32_t>{0})),
        write(Upload(std::vector<int32_t>{1})) {
    args.dtype = dtype;
    args.q = q->as();
    args.k = k->as();
    args.v = v->as();
    args.q_stride = args.k_stride = shape.q_heads * shape.key_dim;
    args.v_stride = args.o_stride = shape.heads * shape.value_dim;
    args.g = shape.decay > 0 ? g->template as<float>() : nullptr;
    args.o = o.as();
    args.state = state->template as<float>();
    args.slots = {read->template as<int32_t>(), write->template as<int32_t>()};
    args.plan = step ? nullptr : &plan.plan;
    args.sequences = 1;
    args.heads = shape.heads;
    args.key_dim = shape.key_dim;
    args.value_dim = shape.value_dim;
  }
  void TakeWorkspace(int64_t bytes) {
    workspace = std::make_unique<Memory>(bytes);
    args.workspace = workspace->as();
  }
  Plan plan;
  int64_t values;
  MemoryRef q, k, v, g;
  Memory o;
  MemoryRef state, read, write, workspace;
  Args args;
};

// Compares and times the calls that `Mixer` makes of a shape.
template <typename Mixer, typename MixerShape>
void TimeMixer(benchmark::State& state, const MixerShape& shape, int64_t tokens, Work work) {
  std::vector<float> outputs[2];
  for (const DType dtype : {DType::kBFloat16, DType::kFloat32}) {
    const Mixer mixer(shape, dtype, 3000, false);
    mixer.Run();
    outputs[dtype == DType::kFloat32] = Download(mixer.o, mixer.values, dtype);
  }
  work.error = RelativeError(outputs[0], outputs[1]);
  const Mixer mixer(shape, DType::kBFloat16, tokens, tokens == 1);
  work.run = [&] { mixer.Run(); };
  Time(state, work);
}

struct DeltaShape : Shape {
  double softmax_share = -1;
};

struct Delta : Setup<DeltaRuleArgs> {
  Delta(const DeltaShape& shape, DType dtype, int64_t tokens, bool step)
      : Setup(shape, dtype, tokens, step, 1, tokens * shape.heads),
        beta(Uniforms(tokens * shape.heads, DType::kFloat32, 0, 1)),
        start(Normals(2 * shape.heads * shape.key_dim * shape.value_dim, DType::kFloat32)),
        log(Normals(2 * shape.heads, DType::kFloat32)),
        positions(Upload(std::vector<int64_t>{5})) {
    std::mt19937 engine(7);
    std::vector<uint8_t> flags(static_cast<size_t>(plan.plan.max_chunks * shape.heads));
    for (uint8_t& flag : flags)
      flag = static_cast<double>(engine() % 1000) < shape.softmax_share * 1000 ? 1 : 0;
    softmax = Upload(flags);
    nats.chunk_start = start->as<float>();
    nats.chunk_log_decay = log->as<float>();
    nats.softmax = softmax->as<uint8_t>();
    nats.softmax_heads = shape.heads;
    nats.decay_over_softmax_chunks = true;
    args.normalize_qk = true;
    args.beta = beta->as<float>();
    args.nats = shape.softmax_share >= 0 ? &nats : nullptr;
    args.positions = positions->as<int64_t>();
    args.value_heads = shape.heads;
    args.scale = 1 / std::sqrt(static_cast<double>(shape.key_dim));
    TakeWorkspace(DeltaRuleWorkspaceBytes(args));
  }
  void Run() const { RunDeltaRule(args, nullptr); }
  MemoryRef beta, start, log, positions, softmax;
  NatsDelta nats;
};

void BenchmarkDelta(benchmark::State& state, DeltaShape shape, int64_t tokens) {
  const auto n = static_cast<double>(tokens * shape.heads), K = static_cast<double>(shape.key_dim),
             V = static_cast<double>(shape.value_dim);
  // Products of the chunked form with chunks of 64; bytes of inputs and outputs once.
  Work work;
  work.flops = tokens == 1 ? 0 : n * (2 * 64 * (2 * K + K + V) + 6 * K * V + 64 * V);
  work.bytes = tokens == 1 ? n * K * V * 8 : n * (2 * K + 2 * V) * 2;
  TimeMixer<Delta>(state, shape, tokens, work);
}

struct LinearShape : Shape {
  DecayKind kind;
  bool bonus = false;
};

struct Linear : Setup<LinearAttentionArgs> {
  Linear(const LinearShape& shape, DType dtype, int64_t tokens, bool step)
      : Setup(shape, dtype, tokens, step, 0.3f,
              shape.kind == DecayKind::kScalarPerHead    ? shape.heads
              : shape.kind == DecayKind::kScalarPerToken ? tokens * shape.heads
                                                         : tokens * shape.q_heads * shape.key_dim),
        bonus(Normals(shape.heads * shape.key_dim, DType::kFloat32)) {
    args.decay = shape.kind;
    args.bonus = shape.bonus ? bonus->as<float>() : nullptr;
    args.v_heads = shape.heads;
    args.q_heads = args.kv_heads = shape.q_heads;
    args.scale = 0.1;
    TakeWorkspace(LinearAttentionWorkspaceBytes(args));
  }
  void Run() const { RunLinearAttention(args, nullptr); }
  MemoryRef bonus;
};

void BenchmarkLinear(benchmark::State& state, LinearShape shape, int64_t tokens) {
  const auto n = static_cast<double>(tokens), H = static_cast<double>(shape.heads),
             Q = static_cast<double>(shape.q_heads), K = static_cast<double>(shape.key_dim),
             V = static_cast<double>(shape.value_dim);
  Work work;
  work.flops = tokens == 1 ? 0 : n * H * (2 * 64 * K + 4 * K * V + 64 * V);
  work.bytes = tokens == 1 ? H * K * V * 8
                           : n * (Q * 2 * K * 2 + H * V * 4 +
                                  (shape.kind == DecayKind::kVectorPerToken ? Q * K * 4 : 0));
  TimeMixer<Linear>(state, shape, tokens, work);
}

void BenchmarkScan(benchmark::State& state, int64_t channels, int64_t tokens) {
  const Plan plan(tokens);
  const auto x = Normals(tokens * channels, DType::kBFloat16);
  const auto g = Uniforms(tokens * channels, DType::kFloat32, -1, 0);
  const Memory o(tokens * channels * 2);
  const auto slots = Normals(2 * channels, DType::kFloat32);
  ScanArgs args;
  args.x = x->as();
  args.x_stride = args.o_stride = args.channels = channels;
  args.g = g->as<float>();
  args.o = o.as();
  args.state = slots->as<float>();
  args.plan = &plan.plan;
  args.sequences = 1;
  const Memory workspace(ScanWorkspaceBytes(args));
  args.workspace = workspace.as();
  Work work;
  work.run = [&] { RunScan(args, nullptr); };
  work.bytes = static_cast<double>(tokens * channels) * 8;
  Time(state, work);
}

}  // namespace

void AddRecurrentRows() {
  const DeltaShape gdn{{6, 6, 128, 256, 0.1f}}, gdn_weak{{6, 6, 128, 256, 1e-3f}},
      gdn_large{{6, 6, 192, 384, 0.1f}}, delta_net{{8, 8, 128, 128, 0}},
      nats{{6, 6, 128, 256, 0.1f}, 0.25};
  const LinearShape gla{{4, 4, 128, 256, 0.1f}, DecayKind::kVectorPerToken},
      hgrn2{{8, 8, 128, 128, 0.1f}, DecayKind::kVectorPerToken},
      rwkv6{{4, 4, 128, 256, 0.5f}, DecayKind::kVectorPerToken, true},
      retnet{{4, 4, 256, 512, 0.03f}, DecayKind::kScalarPerHead},
      mamba2{{32, 1, 128, 64, 0.1f}, DecayKind::kScalarPerToken};
  for (const int64_t tokens : {kLong, int64_t{16384}, int64_t{1}}) {
    const std::string at = tokens == 1 ? "/step" : "/" + std::to_string(tokens);
    Add("delta/gdn_340m" + at, BenchmarkDelta, gdn, tokens);
    Add("delta/gdn_340m_weak_decay" + at, BenchmarkDelta, gdn_weak, tokens);
    Add("delta/gdn_760m" + at, BenchmarkDelta, gdn_large, tokens);
    Add("delta/delta_net_340m" + at, BenchmarkDelta, delta_net, tokens);
    Add("delta/natsl_340m" + at, BenchmarkDelta, nats, tokens);
    Add("linear/gla_340m" + at, BenchmarkLinear, gla, tokens);
    Add("linear/hgrn2_340m" + at, BenchmarkLinear, hgrn2, tokens);
    Add("linear/rwkv6_340m" + at, BenchmarkLinear, rwkv6, tokens);
    Add("linear/retnet_340m" + at, BenchmarkLinear, retnet, tokens);
    Add("linear/mamba2_340m" + at, BenchmarkLinear, mamba2, tokens);
  }
  Add("scan/hgrn_340m", BenchmarkScan, int64_t{1024}, kLong);
}

}  // namespace natsl::kernels::cuda::bench
