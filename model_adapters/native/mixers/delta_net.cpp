// DeltaNet and Gated DeltaNet.
#include "model_adapters/native/mixers/delta_net.h"

#include <cmath>

namespace natsl::model_adapters::native {

DeltaBranch::DeltaBranch(const DeltaNetSpec& spec, const MixerContext& context)
    : spec_(spec),
      q_proj_(context.Load("q_proj")),
      k_proj_(context.Load("k_proj")),
      v_proj_(context.Load("v_proj")) {
  if (spec.use_beta) b_proj_ = context.Load("b_proj");
  if (spec.decay) {
    a_proj_ = context.Load("a_proj");
    negative_a_ = context.loader.Small(context.prefix + "A_log").exp().neg();
    dt_bias_ = context.loader.Small(context.prefix + "dt_bias");
  }
  if (spec.conv) {
    const bool qk_silu = spec.qk_activation == Activation::kSilu;
    q_conv_ = ShortConv(context.loader, context.prefix + "q_conv1d", qk_silu);
    k_conv_ = ShortConv(context.loader, context.prefix + "k_conv1d", qk_silu);
    v_conv_ = ShortConv(context.loader, context.prefix + "v_conv1d", true);
  }
}

at::Tensor DeltaBranch::Mix(const at::Tensor& x, const ShortConv& conv, Activation activation,
                            Batch& batch, int64_t layer, size_t tail) const {
  at::Tensor y = conv.defined() ? conv(x, batch, layer, tail) : x.clone();
  if (!(conv.defined() && activation == Activation::kSilu)) Activate(y, activation);
  return y;
}

DeltaBranch::Inputs DeltaBranch::Project(const at::Tensor& h, Batch& batch, int64_t layer) const {
  Inputs in;
  in.raw_q = q_proj_(h);
  in.raw_k = k_proj_(h);
  in.raw_v = v_proj_(h);
  in.q = Mix(in.raw_q, q_conv_, spec_.qk_activation, batch, layer, 0);
  in.k = Mix(in.raw_k, k_conv_, spec_.qk_activation, batch, layer, 1);
  in.v = Mix(in.raw_v, v_conv_, Activation::kSilu, batch, layer, 2);
  in.beta = spec_.use_beta ? b_proj_(h).sigmoid_() : at::ones({h.size(0), spec_.value_heads});
  if (spec_.negative_eigenvalues) in.beta.mul_(2);
  if (spec_.decay) in.g = at::softplus(a_proj_(h).add_(dt_bias_)).mul_(negative_a_);
  return in;
}

at::Tensor DeltaBranch::Recur(Inputs& inputs, Batch& batch, int64_t layer,
                              kernels::DeltaRuleArgs args) const {
  const bool l2 = spec_.qk_norm == DeltaNetSpec::QkNorm::kL2;
  NormalizeHeads(inputs.q, spec_.key_dim, l2);
  NormalizeHeads(inputs.k, spec_.key_dim, l2);
  const std::vector<float*> states = RecurrentStates(batch, layer, state_floats());
  at::Tensor o = at::empty({batch.tokens(), spec_.value_heads * spec_.value_dim}, at::kFloat);
  args.q = inputs.q.data_ptr<float>();
  args.q_stride = RowStride(inputs.q);
  args.k = inputs.k.data_ptr<float>();
  args.k_stride = RowStride(inputs.k);
  args.v = inputs.v.data_ptr<float>();
  args.v_stride = RowStride(inputs.v);
  args.beta_above_one = spec_.negative_eigenvalues;
  args.g = inputs.g.defined() ? inputs.g.data_ptr<float>() : nullptr;
  args.beta = inputs.beta.data_ptr<float>();
  args.o = o.data_ptr<float>();
  args.states = states.data();
  args.offsets = batch.offsets.data();
  args.sequences = batch.sequences();
  args.heads = spec_.heads;
  args.value_heads = spec_.value_heads;
  args.key_dim = spec_.key_dim;
  args.value_dim = spec_.value_dim;
  args.scale = 1.0 / std::sqrt(static_cast<double>(spec_.key_dim));
  kernels::RunDeltaRuleCpu(args);
  return o;
}

namespace {

class DeltaNet final : public Mixer {
 public:
  DeltaNet(const DeltaNetSpec& spec, const MixerContext& context)
      : branch_(spec, context),
        o_norm_(context.loader, context.prefix + "o_norm", spec.output_norm, spec.value_dim),
        o_proj_(context.Load("o_proj")) {
    if (spec.output_gate) g_proj_ = context.Load("g_proj");
  }

  at::Tensor Forward(const at::Tensor& h, Batch& batch, int64_t layer) const override {
    DeltaBranch::Inputs inputs = branch_.Project(h, batch, layer);
    at::Tensor o = branch_.Recur(inputs, batch, layer);
    if (g_proj_.defined()) return o_proj_(o_norm_.Gated(o, g_proj_(h)));
    o_norm_.InPlace(o);
    return o_proj_(o);
  }

 private:
  DeltaBranch branch_;
  Norm o_norm_;
  Linear g_proj_, o_proj_;
};

}  // namespace

std::unique_ptr<Mixer> MakeDeltaNet(const DeltaNetSpec& spec, const MixerContext& context) {
  return std::make_unique<DeltaNet>(spec, context);
}

}  // namespace natsl::model_adapters::native
