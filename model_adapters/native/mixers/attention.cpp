// Softmax attention: GQA, windows, RoPE, q/k norms, over KV pages.
#include <algorithm>

#include "kernels/paged_attention.h"
#include "model_adapters/native/mixers/mixer.h"

namespace natsl::model_adapters::native {
namespace {

using kernels::kPageTokens;

class Attention final : public Mixer {
 public:
  Attention(const AttentionSpec& spec, const MixerContext& context)
      : spec_(spec),
        q_proj_(context.Load("q_proj")),
        k_proj_(context.Load("k_proj")),
        v_proj_(context.Load("v_proj")),
        o_proj_(context.Load("o_proj")),
        rope_(MakeRope(spec.rope)),
        pool_(spec.kv_heads * kPageTokens * spec.head_dim,
              spec.kv_heads * kPageTokens * spec.head_dim) {
    if (spec.qk_norm) {
      q_norm_ = Norm(context.loader, context.prefix + "q_norm", *spec.qk_norm);
      k_norm_ = Norm(context.loader, context.prefix + "k_norm", *spec.qk_norm);
    }
  }

  at::Tensor Forward(const at::Tensor& h, Batch& batch, int64_t layer) const override {
    at::Tensor q = q_proj_(h);
    at::Tensor k = k_proj_(h);
    const at::Tensor v = v_proj_(h);
    if (q_norm_.defined()) {
      q_norm_.InPlace(q);
      k_norm_.InPlace(k);
    }
    if (rope_) {
      rope_->Apply(q, spec_.head_dim, batch.positions);
      rope_->Apply(k, spec_.head_dim, batch.positions);
    }
    Append(k, v, batch, layer);
    at::Tensor o = at::empty({h.size(0), spec_.heads * spec_.head_dim}, at::kFloat);
    Attend(q, o, batch, layer);
    if (spec_.window) DropOldPages(batch, layer);
    return o_proj_(o);
  }

 private:
  static PageList& ListOf(Batch& batch, size_t s, int64_t layer) {
    LayerState& state = batch.states[s]->layers[static_cast<size_t>(layer)];
    if (state.kv.empty()) state.kv.resize(1);
    return state.kv[0];
  }

  void Append(const at::Tensor& k, const at::Tensor& v, Batch& batch, int64_t layer) const {
    const auto tokens = static_cast<size_t>(batch.tokens());
    std::vector<void*> keys(tokens), values(tokens);
    std::vector<int64_t> slots(tokens);
    for (size_t s = 0; s < batch.states.size(); ++s) {
      PageList& list = ListOf(batch, s, layer);
      for (auto r = static_cast<size_t>(batch.offsets[s]);
           r < static_cast<size_t>(batch.offsets[s + 1]); ++r) {
        list.PrepareAppend(pool_);
        keys[r] = list.pages.back()->keys;
        values[r] = list.pages.back()->values;
        slots[r] = list.keys % kPageTokens;
        ++list.keys;
      }
    }
    kernels::AppendKvArgs args;
    args.k = k.data_ptr<float>();
    args.k_stride = RowStride(k);
    args.v = v.data_ptr<float>();
    args.v_stride = RowStride(v);
    args.key_pages = keys.data();
    args.value_pages = values.data();
    args.slots = slots.data();
    args.tokens = batch.tokens();
    args.kv_heads_per_group = spec_.kv_heads;
    args.key_dim = args.value_dim = spec_.head_dim;
    kernels::RunAppendKvCpu(args);
  }

  void Attend(const at::Tensor& q, at::Tensor& o, Batch& batch, int64_t layer) const {
    std::vector<std::vector<const void*>> keys(batch.states.size()), values(batch.states.size());
    std::vector<kernels::AttentionBlock> blocks;
    for (size_t s = 0; s < batch.states.size(); ++s) {
      const PageList& list = ListOf(batch, s, layer);
      for (const KvPageRef& page : list.pages) {
        keys[s].push_back(page->keys);
        values[s].push_back(page->values);
      }
      const int64_t tokens = batch.tokens_of(s);
      const int64_t before = list.keys - tokens;
      for (int64_t begin = 0; begin < tokens; begin += kPageTokens) {
        kernels::AttentionBlock block;
        block.query_row = batch.offsets[s] + begin;
        block.query_count = std::min(kPageTokens, tokens - begin);
        // Whole pages that the window hides from the block's first query are left out.
        const int64_t first_key = before + begin;
        const int64_t hidden =
            spec_.window ? std::max<int64_t>(0, first_key - *spec_.window + 1) / kPageTokens : 0;
        block.first_key = first_key - hidden * kPageTokens;
        block.key_pages = keys[s].data() + hidden;
        block.value_pages = values[s].data() + hidden;
        blocks.push_back(block);
      }
    }
    kernels::PagedAttentionArgs args;
    args.q = q.data_ptr<float>();
    args.q_stride = RowStride(q);
    args.o = o.data_ptr<float>();
    args.o_stride = RowStride(o);
    args.blocks = blocks.data();
    args.block_count = static_cast<int64_t>(blocks.size());
    args.query_heads = spec_.heads;
    args.kv_heads_per_group = spec_.kv_heads;
    args.key_dim = args.value_dim = spec_.head_dim;
    args.window = spec_.window.value_or(0);
    args.scale = spec_.scale;
    kernels::RunPagedAttentionCpu(args);
  }

  // The next token sees window - 1 of the keys here.
  void DropOldPages(Batch& batch, int64_t layer) const {
    for (size_t s = 0; s < batch.states.size(); ++s) {
      PageList& list = ListOf(batch, s, layer);
      const int64_t drop =
          std::min(std::max<int64_t>(0, list.keys + 1 - *spec_.window) / kPageTokens,
                   static_cast<int64_t>(list.pages.size()));
      list.pages.erase(list.pages.begin(), list.pages.begin() + drop);
      list.keys -= drop * kPageTokens;
      list.first_key += drop * kPageTokens;
    }
  }

  AttentionSpec spec_;
  Linear q_proj_, k_proj_, v_proj_, o_proj_;
  Norm q_norm_, k_norm_;
  std::optional<Rope> rope_;
  mutable PagePool pool_;
};

}  // namespace

std::unique_ptr<Mixer> MakeAttention(const AttentionSpec& spec, const MixerContext& context) {
  return std::make_unique<Attention>(spec, context);
}

}  // namespace natsl::model_adapters::native
