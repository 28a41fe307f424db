// GLA, RetNet and HGRN2: linear attention with decay and additive update.
#include <cmath>

#include "model_adapters/native/cuda/mixers/forget_gate.h"
#include "model_adapters/native/cuda/mixers/mixer.h"
#include "model_adapters/native/cuda/mixers/recurrence.h"

namespace natsl::model_adapters::native::cuda {
namespace {

using Family = LinearAttentionSpec::Family;
using kernels::cuda::Unary;

class LinearAttention final : public Mixer {
 public:
  LinearAttention(const LinearAttentionSpec& spec, const MixerContext& context)
      : spec_(spec),
        proj_(context.Load({"q_proj", Hgrn2() ? "f_proj" : "k_proj", Hgrn2() ? "i_proj" : "v_proj",
                            spec.output_gate && !Hgrn2() ? "g_proj" : "",
                            spec.family == Family::kGla ? "gk_proj.0" : ""})),
        o_proj_(context.Load({"o_proj"})),
        rope_(MakeRope(spec.rope)),
        lower_bound_(context.lower_bound) {
    norm_ = Norm(context.loader, context.prefix + "g_norm", spec.output_norm,
                 Hgrn2() ? spec.heads * spec.value_dim : spec.value_dim);
    if (spec.family == Family::kGla) decay_up_ = context.Load({"gk_proj.1"});
    if (spec.conv) {
      conv_ = ShortConv(
          context.loader, context.prefix,
          {"q_conv1d", Hgrn2() ? "f_conv1d" : "k_conv1d", Hgrn2() ? "i_conv1d" : "v_conv1d"},
          spec.conv->activation == Activation::kSilu, context.pool);
    }
    if (spec.family == Family::kRetNet) {
      std::vector<float> decay;
      for (int64_t n = 0; n < spec.heads; ++n) {
        decay.push_back(static_cast<float>(std::log1p(-std::exp2(-5.0 - static_cast<double>(n)))));
      }
      head_decay_ =
          at::tensor(at::ArrayRef<float>(decay.data(), decay.size()), at::kFloat).to(at::kCUDA);
    }
    state_ =
        context.pool.AddFixed(StateKind::kRecurrent, spec.heads * spec.key_dim * spec.value_dim);
  }

  at::Tensor Forward(Hidden& h, const Pass& pass) const override {
    const at::Tensor y = proj_(h);
    at::Tensor mixed = y;
    if (conv_.defined()) {
      mixed = EmptyOn({h.rows(), conv_.channels()}, h.type());
      conv_.Into(Columns(y, 0, conv_.channels()), mixed, pass);
    }
    const at::Tensor q = proj_.Part(mixed, kQ), v = proj_.Part(mixed, kV);
    at::Tensor k = proj_.Part(mixed, kK);
    kernels::cuda::LinearAttentionArgs args;
    at::Tensor g = head_decay_;
    args.decay = kernels::DecayKind::kScalarPerHead;
    if (Hgrn2()) {
      ActivateInto(q, Unary::kSilu, {}, q);
      g = EmptyOn({k.size(0), k.size(1)}, at::kFloat);
      const at::Tensor open = EmptyOn({k.size(0), k.size(1)}, k.scalar_type());
      ForgetGate(k, {}, lower_bound_, g, open, pass);
      k = open;
    } else if (spec_.feature_map != Activation::kIdentity) {
      ActivateInto(q, UnaryOf(spec_.feature_map), {}, q);
      ActivateInto(k, UnaryOf(spec_.feature_map), {}, k);
    }
    if (spec_.family == Family::kGla) g = GlaDecay(proj_.Part(y, kDecay), pass);
    if (spec_.family != Family::kRetNet) args.decay = kernels::DecayKind::kVectorPerToken;
    if (rope_) {
      rope_->ApplyBoth(q, k, spec_.key_dim, pass);
    }
    args.g = g.data_ptr<float>();
    args.heads = args.q_heads = spec_.heads;
    args.kv_heads = args.v_heads = spec_.kv_heads;
    args.key_dim = spec_.key_dim;
    args.value_dim = spec_.value_dim;
    args.scale = 1.0 / std::sqrt(static_cast<double>(spec_.key_dim));
    const at::Tensor o = RunRecurrence(q, k, v, args, state_, pass);
    if (spec_.output_gate && !Hgrn2() && spec_.gate_activation == Activation::kSilu) {
      return o_proj_.OfHeadNormed(norm_, o, proj_.Part(y, kGate));
    }
    return o_proj_(Finish(y, o));
  }

 private:
  enum Part : size_t { kQ, kK, kV, kGate, kDecay };

  bool Hgrn2() const { return spec_.family == Family::kHgrn2; }

  // log sigmoid(W2 W1 h + b) / normalizer, float32.
  at::Tensor GlaDecay(const at::Tensor& down, const Pass& pass) const {
    const at::Tensor up = decay_up_.Wide(down);
    kernels::cuda::ActivationArgs args;
    args.activation = Unary::kLogSigmoid;
    args.dtype = args.output_dtype = core::DType::kFloat32;
    args.x = args.y = up.data_ptr();
    args.x_stride = args.y_stride = up.stride(0);
    args.rows = up.size(0);
    args.columns = up.size(1);
    args.scale = 1.0 / spec_.decay_normalizer;
    if (spec_.clamp_min) args.minimum = *spec_.clamp_min;
    kernels::cuda::RunActivation(args, pass.stream);
    return up;
  }

  at::Tensor Finish(const at::Tensor& y, const at::Tensor& o) const {
    if (!spec_.output_gate || Hgrn2()) {
      norm_.Into(o, o);
      return o;
    }
    const at::Tensor gate = proj_.Part(y, kGate);
    return Activated(gate, UnaryOf(spec_.gate_activation), norm_(o));
  }

  LinearAttentionSpec spec_;
  Projection proj_, o_proj_, decay_up_;
  ShortConv conv_;
  Norm norm_;
  std::optional<Rope> rope_;
  at::Tensor lower_bound_;
  at::Tensor head_decay_;  ///< RetNet: log gamma [heads]
  int64_t state_ = 0;
};

}  // namespace

std::unique_ptr<Mixer> MakeLinearAttention(const LinearAttentionSpec& spec,
                                           const MixerContext& context) {
  return std::make_unique<LinearAttention>(spec, context);
}

}  // namespace natsl::model_adapters::native::cuda
