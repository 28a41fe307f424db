// Softmax attention: GQA, windows, RoPE, q/k norms, over KV pages; a long fresh prompt in bfloat16
// goes through cuDNN's fused attention.
#include "model_adapters/native/cuda/mixers/mixer.h"
#include "model_adapters/native/cuda/mixers/paged.h"

namespace natsl::model_adapters::native::cuda {
namespace {

// cuDNN prepares a plan for every new length, some hundredths of a second: for long prompts alone.
constexpr int64_t kCudnnTokens = 8192;

class Attention final : public Mixer {
 public:
  Attention(const AttentionSpec& spec, const MixerContext& context)
      : spec_(spec),
        qkv_proj_(context.Load({"q_proj", "k_proj", "v_proj"})),
        o_proj_(context.Load({"o_proj"})),
        rope_(MakeRope(spec.rope)) {
    if (spec.qk_norm) {
      q_norm_ = Norm(context.loader, context.prefix + "q_norm", *spec.qk_norm);
      k_norm_ = Norm(context.loader, context.prefix + "k_norm", *spec.qk_norm);
    }
    paged_.lists =
        context.pool.AddLists(1, spec.kv_heads, spec.head_dim, spec.head_dim,
                              context.loader.dtype(), /*selected=*/false, spec.window.value_or(0));
    paged_.query_heads = spec.heads;
    paged_.window = spec.window.value_or(0);
    paged_.scale = spec.scale;
  }

  at::Tensor Forward(Hidden& h, const Pass& pass) const override {
    const at::Tensor qkv = qkv_proj_(h);
    const at::Tensor q = qkv_proj_.Part(qkv, 0), k = qkv_proj_.Part(qkv, 1),
                     v = qkv_proj_.Part(qkv, 2);
    if (pass.decode()) {
      const at::Tensor o = EmptyOn({h.rows(), q.size(1)}, h.type());
      PagedAttention::Heads heads;
      if (q_norm_.defined()) heads.q_norm = &q_norm_;
      if (k_norm_.defined()) heads.k_norm = &k_norm_;
      if (rope_) heads.rope = &*rope_;
      paged_.Step(q, k, v, o, heads, pass);
      return o_proj_(o);
    }
    if (q_norm_.defined()) {
      q_norm_.Into(q, q);
      k_norm_.Into(k, k);
    }
    if (rope_) rope_->ApplyBoth(q, k, spec_.head_dim, pass);
    at::Tensor memory;
    const kernels::cuda::ChunkPages pages = paged_.LayOut(pass, memory);
    kernels::cuda::RunPlanPages(*pass.plan, pass.lists, pass.pool->table(paged_.lists), pages,
                                pass.stream);
    paged_.Store(k, v, pages, pass);
    if (ForCudnn(qkv, pass)) return o_proj_(Cudnn(q, k, v));
    const at::Tensor o = EmptyOn({h.rows(), q.size(1)}, h.type());
    paged_.Prefill(q, k, v, o, pages, pass);
    return o_proj_(o);
  }

 private:
  bool ForCudnn(const at::Tensor& qkv, const Pass& pass) const {
    return pass.sequences == 1 && pass.host_first[0] == 0 && pass.tokens >= kCudnnTokens &&
           qkv.scalar_type() == at::kBFloat16 && !spec_.window && spec_.head_dim <= 128 &&
           spec_.head_dim % 8 == 0;
  }

  at::Tensor Cudnn(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) const {
    // [tokens, heads * dim] → [1, heads, tokens, dim], kv heads repeated for their query heads.
    const auto split = [&](const at::Tensor& x, int64_t heads) {
      at::Tensor y = x.unflatten(1, {heads, spec_.head_dim});
      if (heads != spec_.heads) y = y.repeat_interleave(spec_.heads / heads, 1);
      return y.transpose(0, 1).unsqueeze(0);
    };
    const at::Tensor o = std::get<0>(at::_scaled_dot_product_cudnn_attention(
        split(q, spec_.heads), split(k, spec_.kv_heads), split(v, spec_.kv_heads), std::nullopt,
        /*compute_log_sumexp=*/false, /*dropout_p=*/0.0, /*is_causal=*/true,
        /*return_debug_mask=*/false, spec_.scale));
    return o.squeeze(0).transpose(0, 1).reshape({q.size(0), spec_.heads * spec_.head_dim});
  }

  AttentionSpec spec_;
  Projection qkv_proj_, o_proj_;
  Norm q_norm_, k_norm_;
  std::optional<Rope> rope_;
  PagedAttention paged_;
};

}  // namespace

std::unique_ptr<Mixer> MakeAttention(const AttentionSpec& spec, const MixerContext& context) {
  return std::make_unique<Attention>(spec, context);
}

}  // namespace natsl::model_adapters::native::cuda
