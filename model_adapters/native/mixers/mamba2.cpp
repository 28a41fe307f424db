// Mamba2 (SSD): linear attention with a scalar decay a token, q = C, k = B, v = dt X.
#include <cmath>

#include "kernels/linear_attention.h"
#include "model_adapters/native/mixers/mixer.h"

namespace natsl::model_adapters::native {
namespace {

class Mamba2 final : public Mixer {
 public:
  Mamba2(const Mamba2Spec& spec, const MixerContext& context)
      : spec_(spec),
        inner_(spec.heads * spec.head_dim),
        in_proj_(context.Load("in_proj")),
        out_proj_(context.Load("out_proj")),
        conv_(context.loader, context.prefix + "conv1d", true),
        negative_a_(context.loader.Small(context.prefix + "A_log").exp().neg()),
        dt_bias_(context.loader.Small(context.prefix + "dt_bias")),
        skip_(context.loader.Small(context.prefix + "D")) {
    // [heads, 1] or [heads, head_dim]: broadcasts over x [tokens, heads, head_dim].
    skip_ = skip_.view({spec.heads, spec.d_has_head_dim ? spec.head_dim : 1});
    if (spec.gated_norm) {
      NormSpec norm;
      norm.eps = spec.norm_eps;
      norm_ = Norm(context.loader, context.prefix + "norm", norm, inner_ / spec.groups);
    }
  }

  at::Tensor Forward(const at::Tensor& h, Batch& batch, int64_t layer) const override {
    const int64_t bc = spec_.groups * spec_.state;
    const at::Tensor projected = in_proj_(h);
    const at::Tensor z = projected.narrow(1, 0, inner_);
    const at::Tensor xbc = conv_(projected.narrow(1, inner_, inner_ + 2 * bc), batch, layer, 0);
    const at::Tensor dt = StepSizes(projected.narrow(1, 2 * inner_ + 2 * bc, spec_.heads), batch);
    const at::Tensor g = dt * negative_a_;
    const at::Tensor x = xbc.narrow(1, 0, inner_).unflatten(1, {spec_.heads, spec_.head_dim});
    const at::Tensor v = (x * dt.unsqueeze(2)).contiguous();
    at::Tensor o =
        Recur(xbc.narrow(1, inner_ + bc, bc), xbc.narrow(1, inner_, bc), v, g, batch, layer);
    o.view({-1, spec_.heads, spec_.head_dim}).addcmul_(x, skip_);
    if (norm_.defined()) return out_proj_(norm_.Gated(o, z, !spec_.norm_before_gate));
    return out_proj_(o.mul_(at::silu(z)));
  }

 private:
  at::Tensor StepSizes(const at::Tensor& raw, const Batch& batch) const {
    at::Tensor dt = at::softplus(raw + dt_bias_);
    if (spec_.dt_limit[0] <= 0 && std::isinf(spec_.dt_limit[1])) return dt;
    const at::Tensor clamped = dt.clamp(spec_.dt_limit[0], spec_.dt_limit[1]);
    if (spec_.clamp_dt_in_decode) return clamped;
    // The reference's one-token step on a non-empty state leaves dt as it is.
    for (size_t s = 0; s < batch.states.size(); ++s) {
      if (batch.tokens_of(s) == 1 && batch.states[s]->length > 0) continue;
      dt.narrow(0, batch.offsets[s], batch.tokens_of(s))
          .copy_(clamped.narrow(0, batch.offsets[s], batch.tokens_of(s)));
    }
    return dt;
  }

  at::Tensor Recur(const at::Tensor& c, const at::Tensor& b, const at::Tensor& v,
                   const at::Tensor& g, Batch& batch, int64_t layer) const {
    const std::vector<float*> states = RecurrentStates(batch, layer, inner_ * spec_.state);
    at::Tensor o = at::empty({batch.tokens(), inner_}, at::kFloat);
    kernels::LinearAttentionArgs args;
    args.q = c.data_ptr<float>();
    args.q_stride = RowStride(c);
    args.k = b.data_ptr<float>();
    args.k_stride = RowStride(b);
    args.v = v.data_ptr<float>();
    args.v_stride = RowStride(v);
    args.decay = kernels::DecayKind::kScalarPerToken;
    args.g = g.data_ptr<float>();
    args.o = o.data_ptr<float>();
    args.states = states.data();
    args.offsets = batch.offsets.data();
    args.sequences = batch.sequences();
    args.heads = args.v_heads = spec_.heads;
    args.q_heads = args.kv_heads = spec_.groups;
    args.key_dim = spec_.state;
    args.value_dim = spec_.head_dim;
    kernels::RunLinearAttentionCpu(args);
    return o;
  }

  Mamba2Spec spec_;
  int64_t inner_;
  Linear in_proj_, out_proj_;
  ShortConv conv_;
  at::Tensor negative_a_, dt_bias_, skip_;
  Norm norm_;
};

}  // namespace

std::unique_ptr<Mixer> MakeMamba2(const Mamba2Spec& spec, const MixerContext& context) {
  return std::make_unique<Mamba2>(spec, context);
}

}  // namespace natsl::model_adapters::native
