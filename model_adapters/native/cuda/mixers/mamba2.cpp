// Mamba2 (SSD): linear attention with a scalar decay a token, q = C, k = B, v = dt X.
#include <cmath>

#include "model_adapters/native/cuda/mixers/mixer.h"
#include "model_adapters/native/cuda/mixers/recurrence.h"

namespace natsl::model_adapters::native::cuda {
namespace {

class Mamba2 final : public Mixer {
 public:
  Mamba2(const Mamba2Spec& spec, const MixerContext& context)
      : spec_(spec),
        inner_(spec.heads * spec.head_dim),
        in_proj_(context.Load({"in_proj", ""})),
        out_proj_(context.Load({"out_proj"})),
        conv_(context.loader, context.prefix, {"conv1d"}, true, context.pool),
        negative_a_(context.loader.Small(context.prefix + "A_log").exp().neg()),
        dt_bias_(context.loader.Small(context.prefix + "dt_bias")),
        skip_(context.loader.Small(context.prefix + "D")) {
    if (spec.gated_norm) {
      NormSpec norm;
      norm.eps = spec.norm_eps;
      norm_ = Norm(context.loader, context.prefix + "norm", norm, inner_ / spec.groups);
    }
    state_ = context.pool.AddFixed(StateKind::kRecurrent, inner_ * spec.state);
  }

  at::Tensor Forward(Hidden& h, const Pass& pass) const override {
    const int64_t bc = spec_.groups * spec_.state;
    const at::Tensor y = in_proj_(h);
    const at::Tensor z = Columns(y, 0, inner_);
    const at::Tensor xbc = EmptyOn({pass.tokens, inner_ + 2 * bc}, h.type());
    conv_.Into(Columns(y, inner_, inner_ + 2 * bc), xbc, pass);
    const at::Tensor x = Columns(xbc, 0, inner_);
    const at::Tensor g = EmptyOn({pass.tokens, spec_.heads}, at::kFloat);
    const at::Tensor v = EmptyOn({pass.tokens, inner_}, h.type());
    Gates(Columns(y, 2 * inner_ + 2 * bc, spec_.heads), x, g, v, pass);
    kernels::cuda::LinearAttentionArgs args;
    args.decay = kernels::DecayKind::kScalarPerToken;
    args.g = g.data_ptr<float>();
    args.heads = args.v_heads = spec_.heads;
    args.q_heads = args.kv_heads = spec_.groups;
    args.key_dim = spec_.state;
    args.value_dim = spec_.head_dim;
    const at::Tensor o = RunRecurrence(Columns(xbc, inner_ + bc, bc), Columns(xbc, inner_, bc), v,
                                       args, state_, pass);
    kernels::cuda::SkipArgs skip;
    skip.dtype = DTypeOfTensor(x);
    skip.x = x.data_ptr();
    skip.x_stride = x.stride(0);
    skip.skip = skip_.data_ptr<float>();
    skip.skip_per_channel = spec_.d_has_head_dim;
    skip.y = o.data_ptr();
    skip.rows = pass.tokens;
    skip.heads = spec_.heads;
    skip.head_dim = spec_.head_dim;
    kernels::cuda::RunSkip(skip, pass.stream);
    if (norm_.defined()) return out_proj_.OfHeadNormed(norm_, o, z, !spec_.norm_before_gate);
    return out_proj_.OfGated(z, o);
  }

 private:
  void Gates(const at::Tensor& raw, const at::Tensor& x, const at::Tensor& g, const at::Tensor& v,
             const Pass& pass) const {
    const bool limited = spec_.dt_limit[0] > 0 || !std::isinf(spec_.dt_limit[1]);
    // The reference's one-token step on a non-empty state may leave dt as it is.
    const bool free_step = limited && !spec_.clamp_dt_in_decode;
    RunRows(raw, x, g, v, 0, pass.tokens, limited && !(free_step && pass.decode()), pass);
    if (!free_step || pass.decode()) return;
    for (size_t s = 0; s < pass.host_first.size(); ++s) {
      const int64_t row = pass.host_offsets[s];
      if (pass.host_first[s] == 0 || pass.host_offsets[s + 1] - row != 1) continue;
      RunRows(raw, x, g, v, row, 1, false, pass);
    }
  }

  void RunRows(const at::Tensor& raw, const at::Tensor& x, const at::Tensor& g, const at::Tensor& v,
               int64_t begin, int64_t rows, bool limited, const Pass& pass) const {
    kernels::cuda::Mamba2GateArgs args;
    args.dtype = DTypeOfTensor(raw);
    args.raw = raw.narrow(0, begin, rows).data_ptr();
    args.raw_stride = raw.stride(0);
    args.dt_bias = dt_bias_.data_ptr<float>();
    args.negative_a = negative_a_.data_ptr<float>();
    args.x = x.narrow(0, begin, rows).data_ptr();
    args.x_stride = x.stride(0);
    args.g = g.narrow(0, begin, rows).data_ptr<float>();
    args.v = v.narrow(0, begin, rows).data_ptr();
    args.rows = rows;
    args.heads = spec_.heads;
    args.head_dim = spec_.head_dim;
    if (limited) {
      args.minimum = spec_.dt_limit[0];
      if (!std::isinf(spec_.dt_limit[1])) args.maximum = spec_.dt_limit[1];
    }
    kernels::cuda::RunMamba2Gates(args, pass.stream);
  }

  Mamba2Spec spec_;
  int64_t inner_;
  Projection in_proj_, out_proj_;
  ShortConv conv_;
  at::Tensor negative_a_, dt_bias_, skip_;
  Norm norm_;
  int64_t state_ = 0;
};

}  // namespace

std::unique_ptr<Mixer> MakeMamba2(const Mamba2Spec& spec, const MixerContext& context) {
  return std::make_unique<Mamba2>(spec, context);
}

}  // namespace natsl::model_adapters::native::cuda
