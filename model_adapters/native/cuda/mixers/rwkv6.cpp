// RWKV6's time mix: data-dependent token shift, vector decay, bonus for the current token.
#include "model_adapters/native/cuda/mixers/mixer.h"
#include "model_adapters/native/cuda/mixers/recurrence.h"
#include "model_adapters/native/cuda/token_shift.h"

namespace natsl::model_adapters::native::cuda {
namespace {

using kernels::cuda::Unary;

class Rwkv6 final : public Mixer {
 public:
  Rwkv6(const Rwkv6Spec& spec, const MixerContext& context)
      : spec_(spec),
        shift_(context.hidden, context.pool),
        mix_down_(context.Load({"x_proj.0.linear"})),
        mu_(context.loader.Small(context.prefix + "x_proj.0.mu")),
        mix_bias_(context.loader.Small(context.prefix + "x_bias")),
        r_proj_(context.Load({"r_proj.linear"})),
        k_proj_(context.Load({"k_proj.linear"})),
        v_proj_(context.Load({"v_proj.linear"})),
        g_proj_(context.Load({"g_proj.linear"})),
        decay_down_(context.Load({"w_proj.linear.lora.0"})),
        decay_up_(context.Load({"w_proj.linear.lora.2"})),
        o_proj_(context.Load({"o_proj"})),
        bonus_(context.loader.Small(context.prefix + "bonus")) {
    const at::Tensor up = context.loader.Matrix(context.prefix + "x_proj.2.weight");
    for (int64_t n = 0; n < kMixes; ++n) {
      mix_up_.emplace_back(Columns(up, n * spec.shift_rank, spec.shift_rank).contiguous());
    }
    NormSpec norm;
    norm.kind = NormKind::kLayer;
    norm.eps = spec.norm_eps;
    norm.bias = true;
    norm_ = Norm(context.loader, context.prefix + "g_norm", norm, spec.value_dim);
    state_ =
        context.pool.AddFixed(StateKind::kRecurrent, spec.heads * spec.key_dim * spec.value_dim);
  }

  at::Tensor Forward(Hidden& hidden, const Pass& pass) const override {
    const at::Tensor& h = hidden.tensor();
    const at::Tensor delta = shift_.Difference(h, pass);
    const at::Tensor z = mix_down_(Mixed(h, delta, mu_, {}, pass));
    ActivateInto(z, Unary::kTanh, {}, z);
    const auto mixed = [&](int64_t n) {
      const at::Tensor coefficients =
          mix_up_[static_cast<size_t>(n)](Columns(z, n * spec_.shift_rank, spec_.shift_rank));
      return Mixed(h, delta, mix_bias_[n], coefficients, pass);
    };
    const at::Tensor r = r_proj_(mixed(kReceptance));
    const at::Tensor w = LogDecay(mixed(kDecay));
    const at::Tensor k = k_proj_(mixed(kKey));
    const at::Tensor v = v_proj_(mixed(kValue));
    const at::Tensor gate = g_proj_(mixed(kGate));
    kernels::cuda::LinearAttentionArgs args;
    args.decay = kernels::DecayKind::kVectorPerToken;
    args.g = w.data_ptr<float>();
    args.bonus = bonus_.data_ptr<float>();
    args.heads = args.q_heads = args.kv_heads = args.v_heads = spec_.heads;
    args.key_dim = spec_.key_dim;
    args.value_dim = spec_.value_dim;
    const at::Tensor o = RunRecurrence(r, k, v, args, state_, pass);
    norm_.Into(o, o);
    ActivateInto(gate, Unary::kSilu, o, gate);
    return o_proj_(gate);
  }

 private:
  // The order of the five mixes.
  enum Mix : int64_t { kReceptance, kDecay, kKey, kValue, kGate, kMixes };

  // -exp(W2 tanh(W1 x) + b), float32.
  at::Tensor LogDecay(const at::Tensor& x) const {
    const at::Tensor down = decay_down_(x);
    ActivateInto(down, Unary::kTanh, {}, down);
    const at::Tensor up = decay_up_.Wide(down);
    ActivateInto(up, Unary::kNegativeExp, {}, up);
    return up;
  }

  Rwkv6Spec spec_;
  TokenShift shift_;
  Projection mix_down_;
  std::vector<Projection> mix_up_;  ///< [hidden, rank] each
  at::Tensor mu_, mix_bias_;
  Projection r_proj_, k_proj_, v_proj_, g_proj_, decay_down_, decay_up_, o_proj_;
  at::Tensor bonus_;
  Norm norm_;
  int64_t state_ = 0;
};

}  // namespace

std::unique_ptr<Mixer> MakeRwkv6(const Rwkv6Spec& spec, const MixerContext& context) {
  return std::make_unique<Rwkv6>(spec, context);
}

}  // namespace natsl::model_adapters::native::cuda
