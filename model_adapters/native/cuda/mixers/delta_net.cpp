// DeltaNet and Gated DeltaNet.
#include "model_adapters/native/cuda/mixers/delta_net.h"

#include <cmath>

#include "kernels/cuda/delta_step.h"

namespace natsl::model_adapters::native::cuda {
DeltaBranch::DeltaBranch(const DeltaNetSpec& spec, const MixerContext& context)
    : spec_(spec),
      proj_(context.Load({"q_proj", "k_proj", "v_proj", spec.output_gate ? "g_proj" : "",
                          spec.use_beta ? "b_proj" : "", spec.decay ? "a_proj" : ""})) {
  if (spec.decay) {
    negative_a_ = context.loader.Small(context.prefix + "A_log").exp().neg();
    dt_bias_ = context.loader.Small(context.prefix + "dt_bias");
  }
  if (spec.conv) {
    if (spec.qk_activation == Activation::kSilu) {
      qkv_conv_ = ShortConv(context.loader, context.prefix, {"q_conv1d", "k_conv1d", "v_conv1d"},
                            true, context.pool);
    } else {
      qk_conv_ =
          ShortConv(context.loader, context.prefix, {"q_conv1d", "k_conv1d"}, false, context.pool);
      v_conv_ = ShortConv(context.loader, context.prefix, {"v_conv1d"}, true, context.pool);
    }
  }
  state_ = context.pool.AddFixed(StateKind::kRecurrent, state_floats());
}

at::Tensor DeltaBranch::Forward(Hidden& h, const Pass& pass, const kernels::cuda::NatsDelta* nats,
                                Inputs& in) const {
  const at::Tensor y = proj_(h);
  in.raw_q = proj_.Part(y, kQ);
  in.raw_k = proj_.Part(y, kK);
  in.raw_v = proj_.Part(y, kV);
  if (spec_.output_gate) in.gate = proj_.Part(y, kGate);
  const int64_t span = proj_.begin(kV) + proj_.width(kV);
  const at::Tensor mixed = EmptyOn({h.rows(), (span + 7) / 8 * 8}, h.type());
  in.q = proj_.Part(mixed, kQ);
  in.k = proj_.Part(mixed, kK);
  in.v = proj_.Part(mixed, kV);
  const at::Tensor o = EmptyOn({pass.tokens, spec_.value_heads * spec_.value_dim}, h.type());
  if (pass.decode() && Step(y, mixed, o, pass, nats)) return o;
  Mix(y, mixed, in, pass);
  Recur(in, o, pass, nats);
  return o;
}

bool DeltaBranch::Step(const at::Tensor& y, const at::Tensor& mixed, const at::Tensor& o,
                       const Pass& pass, const kernels::cuda::NatsDelta* nats) const {
  if (!qkv_conv_.defined() || !spec_.conv || spec_.qk_norm != DeltaNetSpec::QkNorm::kL2 ||
      spec_.heads != spec_.value_heads) {
    return false;
  }
  kernels::cuda::DeltaStepArgs args;
  args.dtype = DTypeOfTensor(y);
  args.x = y.data_ptr();
  args.x_stride = y.stride(0);
  args.q_at = proj_.begin(kQ);
  args.k_at = proj_.begin(kK);
  args.v_at = proj_.begin(kV);
  if (!qkv_conv_.Describe(args, pass)) return false;
  if (nats != nullptr) {  // attention reads them
    args.mixed = mixed.data_ptr();
    args.mixed_stride = mixed.stride(0);
  }
  if (spec_.decay) {
    const at::Tensor a = proj_.Part(y, kA);
    args.a = a.data_ptr();
    args.a_stride = a.stride(0);
    args.negative_a = negative_a_.data_ptr<float>();
    args.dt_bias = dt_bias_.data_ptr<float>();
  }
  if (spec_.use_beta) {
    const at::Tensor b = proj_.Part(y, kB);
    args.b = b.data_ptr();
    args.b_stride = b.stride(0);
  }
  args.beta_scale = spec_.negative_eigenvalues ? 2 : 1;
  args.o = o.data_ptr();
  args.o_stride = o.stride(0);
  args.state = pass.pool->fixed(state_);
  args.slots = pass.slots;
  args.nats = nats;
  args.positions = pass.positions;
  args.sequences = pass.sequences;
  args.heads = spec_.heads;
  args.key_dim = spec_.key_dim;
  args.value_dim = spec_.value_dim;
  args.scale = 1.0 / std::sqrt(static_cast<double>(spec_.key_dim));
  if (!kernels::cuda::DeltaStepFits(args)) return false;
  kernels::cuda::RunDeltaStep(args, pass.stream);
  return true;
}

void DeltaBranch::Mix(const at::Tensor& y, const at::Tensor& mixed, Inputs& in,
                      const Pass& pass) const {
  const int64_t values = proj_.begin(kV);
  if (qkv_conv_.defined()) {
    const int64_t channels = qkv_conv_.channels();
    qkv_conv_.Into(Columns(y, 0, channels), Columns(mixed, 0, channels), pass);
  } else {
    const kernels::cuda::Unary activation = UnaryOf(spec_.qk_activation);
    const at::Tensor qk = Columns(mixed, 0, values);
    if (qk_conv_.defined()) {
      qk_conv_.Into(Columns(y, 0, values), qk, pass);
      v_conv_.Into(in.raw_v, in.v, pass);
      ActivateInto(qk, activation, {}, qk);
    } else {
      ActivateInto(Columns(y, 0, values), activation, {}, qk);
      ActivateInto(in.raw_v, kernels::cuda::Unary::kSilu, {}, in.v);
    }
  }
  kernels::cuda::DeltaGateArgs gates;
  gates.dtype = DTypeOfTensor(y);
  gates.rows = pass.tokens;
  gates.heads = spec_.value_heads;
  if (spec_.decay) {
    in.g = EmptyOn({pass.tokens, spec_.value_heads}, at::kFloat);
    const at::Tensor a = proj_.Part(y, kA);
    gates.a = a.data_ptr();
    gates.a_stride = a.stride(0);
    gates.negative_a = negative_a_.data_ptr<float>();
    gates.dt_bias = dt_bias_.data_ptr<float>();
    gates.g = in.g.data_ptr<float>();
  }
  const double beta_scale = spec_.negative_eigenvalues ? 2 : 1;
  if (spec_.use_beta) {
    in.beta = EmptyOn({pass.tokens, spec_.value_heads}, at::kFloat);
    const at::Tensor b = proj_.Part(y, kB);
    gates.b = b.data_ptr();
    gates.b_stride = b.stride(0);
    gates.beta_scale = beta_scale;
    gates.beta = in.beta.data_ptr<float>();
  } else if (spec_.negative_eigenvalues) {
    in.beta = EmptyOn({pass.tokens, spec_.value_heads}, at::kFloat).fill_(beta_scale);
  }
  if (gates.a != nullptr || gates.b != nullptr) kernels::cuda::RunDeltaGates(gates, pass.stream);
}

void DeltaBranch::Recur(const Inputs& inputs, const at::Tensor& o, const Pass& pass,
                        const kernels::cuda::NatsDelta* nats) const {
  at::Tensor q = inputs.q, k = inputs.k;
  kernels::cuda::DeltaRuleArgs args;
  args.normalize_qk = spec_.qk_norm == DeltaNetSpec::QkNorm::kL2;
  if (!args.normalize_qk) {
    q = SumNormalized(q, spec_.key_dim);
    k = SumNormalized(k, spec_.key_dim);
  }
  args.dtype = DTypeOfTensor(q);
  args.q = q.data_ptr();
  args.q_stride = q.stride(0);
  args.k = k.data_ptr();
  args.k_stride = k.stride(0);
  args.v = inputs.v.data_ptr();
  args.v_stride = inputs.v.stride(0);
  args.g = FloatsOrNull(inputs.g);
  args.beta = FloatsOrNull(inputs.beta);
  args.o = o.data_ptr();
  args.o_stride = o.stride(0);
  args.state = pass.pool->fixed(state_);
  args.slots = pass.slots;
  args.nats = nats;
  args.plan = pass.plan;
  args.positions = pass.decode() ? pass.positions : nullptr;
  args.sequences = pass.sequences;
  args.heads = spec_.heads;
  args.value_heads = spec_.value_heads;
  args.key_dim = spec_.key_dim;
  args.value_dim = spec_.value_dim;
  args.scale = 1.0 / std::sqrt(static_cast<double>(spec_.key_dim));
  const at::Tensor workspace = EmptyBytes(kernels::cuda::DeltaRuleWorkspaceBytes(args));
  args.workspace = workspace.data_ptr();
  kernels::cuda::RunDeltaRule(args, pass.stream);
}

namespace {

class DeltaNet final : public Mixer {
 public:
  DeltaNet(const DeltaNetSpec& spec, const MixerContext& context)
      : branch_(spec, context),
        o_norm_(context.loader, context.prefix + "o_norm", spec.output_norm, spec.value_dim),
        o_proj_(context.Load({"o_proj"})) {}

  at::Tensor Forward(Hidden& h, const Pass& pass) const override {
    DeltaBranch::Inputs inputs;
    const at::Tensor o = branch_.Forward(h, pass, nullptr, inputs);
    if (inputs.gate.defined()) return o_proj_.OfHeadNormed(o_norm_, o, inputs.gate);
    o_norm_.Into(o, o);
    return o_proj_(o);
  }

 private:
  DeltaBranch branch_;
  Norm o_norm_;
  Projection o_proj_;
};

}  // namespace

std::unique_ptr<Mixer> MakeDeltaNet(const DeltaNetSpec& spec, const MixerContext& context) {
  return std::make_unique<DeltaNet>(spec, context);
}

}  // namespace natsl::model_adapters::native::cuda
