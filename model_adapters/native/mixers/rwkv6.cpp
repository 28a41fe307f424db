// RWKV6's time mix: data-dependent token shift, vector decay, bonus for the current token.
#include "kernels/linear_attention.h"
#include "model_adapters/native/mixers/mixer.h"
#include "model_adapters/native/token_shift.h"

namespace natsl::model_adapters::native {
namespace {

at::Tensor& TimeMixTail(LayerState& state) {
  if (state.tails.empty()) state.tails.resize(1);
  return state.tails[0];
}

class Rwkv6 final : public Mixer {
 public:
  Rwkv6(const Rwkv6Spec& spec, const MixerContext& context)
      : spec_(spec),
        mix_down_(context.Load("x_proj.0.linear")),
        mix_up_(context.loader.Matrix(context.prefix + "x_proj.2.weight").to(at::kFloat)),
        mu_(context.loader.Small(context.prefix + "x_proj.0.mu")),
        mix_bias_(context.loader.Small(context.prefix + "x_bias")),
        r_proj_(context.Load("r_proj.linear")),
        k_proj_(context.Load("k_proj.linear")),
        v_proj_(context.Load("v_proj.linear")),
        g_proj_(context.Load("g_proj.linear")),
        decay_down_(context.Load("w_proj.linear.lora.0")),
        decay_up_(context.Load("w_proj.linear.lora.2")),
        o_proj_(context.Load("o_proj")),
        bonus_(context.loader.Small(context.prefix + "bonus")) {
    NormSpec norm;
    norm.kind = NormKind::kLayer;
    norm.eps = spec.norm_eps;
    norm.bias = true;
    norm_ = Norm(context.loader, context.prefix + "g_norm", norm, spec.value_dim);
  }

  at::Tensor Forward(const at::Tensor& h, Batch& batch, int64_t layer) const override {
    const at::Tensor delta = ShiftDifference(h, batch, layer, &TimeMixTail);
    const at::Tensor z = mix_down_(at::addcmul(h, delta, mu_)).tanh_();
    // The order of the five mixes: receptance, decay, key, value, gate.
    const auto mixed = [&](int64_t n) {
      const at::Tensor part = z.narrow(1, n * spec_.shift_rank, spec_.shift_rank);
      const at::Tensor up = mix_up_.narrow(1, n * spec_.shift_rank, spec_.shift_rank);
      const at::Tensor coefficients = at::addmm(mix_bias_[n], part, up.t());
      return at::addcmul(h, delta, coefficients);
    };
    const at::Tensor r = r_proj_(mixed(0));
    const at::Tensor w = decay_up_(decay_down_(mixed(1)).tanh_()).exp_().neg_();
    const at::Tensor k = k_proj_(mixed(2));
    const at::Tensor v = v_proj_(mixed(3));
    at::Tensor gate = g_proj_(mixed(4));
    at::Tensor o = Recur(r, k, v, w, batch, layer);
    norm_.InPlace(o);
    ActivateAndMultiply(gate, o, Activation::kSilu);
    return o_proj_(gate);
  }

 private:
  at::Tensor Recur(const at::Tensor& r, const at::Tensor& k, const at::Tensor& v,
                   const at::Tensor& w, Batch& batch, int64_t layer) const {
    const std::vector<float*> states =
        RecurrentStates(batch, layer, spec_.heads * spec_.key_dim * spec_.value_dim);
    at::Tensor o = at::empty({batch.tokens(), spec_.heads * spec_.value_dim}, at::kFloat);
    kernels::LinearAttentionArgs args;
    args.q = r.data_ptr<float>();
    args.q_stride = RowStride(r);
    args.k = k.data_ptr<float>();
    args.k_stride = RowStride(k);
    args.v = v.data_ptr<float>();
    args.v_stride = RowStride(v);
    args.decay = kernels::DecayKind::kVectorPerToken;
    args.g = w.data_ptr<float>();
    args.bonus = bonus_.data_ptr<float>();
    args.o = o.data_ptr<float>();
    args.states = states.data();
    args.offsets = batch.offsets.data();
    args.sequences = batch.sequences();
    args.heads = args.q_heads = args.kv_heads = args.v_heads = spec_.heads;
    args.key_dim = spec_.key_dim;
    args.value_dim = spec_.value_dim;
    kernels::RunLinearAttentionCpu(args);
    return o;
  }

  Rwkv6Spec spec_;
  Linear mix_down_;
  at::Tensor mix_up_;  ///< [hidden, 5 * rank]
  at::Tensor mu_, mix_bias_;
  Linear r_proj_, k_proj_, v_proj_, g_proj_, decay_down_, decay_up_, o_proj_;
  at::Tensor bonus_;
  Norm norm_;
};

}  // namespace

std::unique_ptr<Mixer> MakeRwkv6(const Rwkv6Spec& spec, const MixerContext& context) {
  return std::make_unique<Rwkv6>(spec, context);
}

}  // namespace natsl::model_adapters::native
