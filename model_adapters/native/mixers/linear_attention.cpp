// GLA, RetNet and HGRN2: linear attention with decay and additive update.
#include "kernels/linear_attention.h"

#include <cmath>

#include "model_adapters/native/mixers/lower_bound.h"
#include "model_adapters/native/mixers/mixer.h"

namespace natsl::model_adapters::native {
namespace {

using Family = LinearAttentionSpec::Family;

class LinearAttention final : public Mixer {
 public:
  LinearAttention(const LinearAttentionSpec& spec, const MixerContext& context)
      : spec_(spec),
        q_proj_(context.Load("q_proj")),
        k_proj_(context.Load(spec.family == Family::kHgrn2 ? "f_proj" : "k_proj")),
        v_proj_(context.Load(spec.family == Family::kHgrn2 ? "i_proj" : "v_proj")),
        o_proj_(context.Load("o_proj")),
        rope_(MakeRope(spec.rope)),
        lower_bound_(context.lower_bound) {
    const bool hgrn2 = spec.family == Family::kHgrn2;
    norm_ = Norm(context.loader, context.prefix + "g_norm", spec.output_norm,
                 hgrn2 ? spec.heads * spec.value_dim : spec.value_dim);
    if (spec.output_gate) g_proj_ = context.Load("g_proj");
    if (spec.family == Family::kGla) {
      decay_down_ = context.Load("gk_proj.0");
      decay_up_ = context.Load("gk_proj.1");
    }
    if (spec.conv) {
      const bool silu = spec.conv->activation == Activation::kSilu;
      q_conv_ = ShortConv(context.loader, context.prefix + "q_conv1d", silu);
      k_conv_ = ShortConv(context.loader, context.prefix + (hgrn2 ? "f_conv1d" : "k_conv1d"), silu);
      v_conv_ = ShortConv(context.loader, context.prefix + (hgrn2 ? "i_conv1d" : "v_conv1d"), silu);
    }
    if (spec.family == Family::kRetNet) {
      for (int64_t n = 0; n < spec.heads; ++n) {
        head_decay_.push_back(
            static_cast<float>(std::log1p(-std::exp2(-5.0 - static_cast<double>(n)))));
      }
    }
  }

  at::Tensor Forward(const at::Tensor& h, Batch& batch, int64_t layer) const override {
    at::Tensor q = q_proj_(h), k = k_proj_(h), v = v_proj_(h);
    if (q_conv_.defined()) {
      q = q_conv_(q, batch, layer, 0);
      k = k_conv_(k, batch, layer, 1);
      v = v_conv_(v, batch, layer, 2);
    }
    at::Tensor g;
    if (spec_.family == Family::kHgrn2) {
      Activate(q, Activation::kSilu);
      g = LogForgetGate(k, lower_bound_);
      k = at::expm1(g).neg_();
    } else {
      Activate(q, spec_.feature_map);
      Activate(k, spec_.feature_map);
      if (spec_.family == Family::kGla) {
        g = at::log_sigmoid(decay_up_(decay_down_(h))).div_(spec_.decay_normalizer);
        if (spec_.clamp_min) g.clamp_min_(*spec_.clamp_min);
      }
    }
    if (rope_) {
      rope_->Apply(q, spec_.key_dim, batch.positions);
      rope_->Apply(k, spec_.key_dim, batch.positions);
    }
    at::Tensor o = Recur(q, k, v, g, batch, layer);
    return o_proj_(Finish(h, o));
  }

 private:
  at::Tensor Recur(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                   const at::Tensor& g, Batch& batch, int64_t layer) const {
    const std::vector<float*> states =
        RecurrentStates(batch, layer, spec_.heads * spec_.key_dim * spec_.value_dim);
    at::Tensor o = at::empty({batch.tokens(), spec_.heads * spec_.value_dim}, at::kFloat);
    kernels::LinearAttentionArgs args;
    args.q = q.data_ptr<float>();
    args.q_stride = RowStride(q);
    args.k = k.data_ptr<float>();
    args.k_stride = RowStride(k);
    args.v = v.data_ptr<float>();
    args.v_stride = RowStride(v);
    args.decay =
        g.defined() ? kernels::DecayKind::kVectorPerToken : kernels::DecayKind::kScalarPerHead;
    args.g = g.defined() ? g.data_ptr<float>() : head_decay_.data();
    args.o = o.data_ptr<float>();
    args.states = states.data();
    args.offsets = batch.offsets.data();
    args.sequences = batch.sequences();
    args.heads = args.q_heads = spec_.heads;
    args.kv_heads = args.v_heads = spec_.kv_heads;
    args.key_dim = spec_.key_dim;
    args.value_dim = spec_.value_dim;
    args.scale = 1.0 / std::sqrt(static_cast<double>(spec_.key_dim));
    kernels::RunLinearAttentionCpu(args);
    return o;
  }

  at::Tensor Finish(const at::Tensor& h, at::Tensor& o) const {
    if (!g_proj_.defined()) {
      norm_.InPlace(o);
      return o;
    }
    if (spec_.gate_activation == Activation::kSilu) return norm_.Gated(o, g_proj_(h));
    at::Tensor gate = g_proj_(h);
    ActivateAndMultiply(gate, norm_(o), spec_.gate_activation);
    return gate;
  }

  LinearAttentionSpec spec_;
  Linear q_proj_, k_proj_, v_proj_, g_proj_, o_proj_, decay_down_, decay_up_;
  ShortConv q_conv_, k_conv_, v_conv_;
  Norm norm_;
  std::optional<Rope> rope_;
  at::Tensor lower_bound_;
  std::vector<float> head_decay_;  ///< RetNet: log gamma [heads]
};

}  // namespace

std::unique_ptr<Mixer> MakeLinearAttention(const LinearAttentionSpec& spec,
                                           const MixerContext& context) {
  return std::make_unique<LinearAttention>(spec, context);
}

}  // namespace natsl::model_adapters::native
