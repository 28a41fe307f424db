// NAtS-L: per 64-token chunk and head, softmax attention or Gated DeltaNet keeps the chunk.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/norm.h"
#include "kernels/paged_attention.h"
#include "model_adapters/native/mixers/delta_net.h"

namespace natsl::model_adapters::native {
namespace {

using kernels::kPageTokens;

// One sequence's chunks that complete in a pass, and who keeps them.
struct Choices {
  std::vector<std::vector<uint8_t>> softmax;  ///< [completed][nats heads]
  std::vector<uint8_t> keep;                  ///< [completed, value heads]: 1 = the linear branch
};

class Nats final : public Mixer {
 public:
  Nats(const NatsSpec& spec, const MixerContext& context)
      : spec_(spec),
        hidden_(context.hidden),
        key_dim_(spec.delta.heads * spec.delta.key_dim / spec.attention_heads),
        value_dim_(spec.delta.value_heads * spec.delta.value_dim / spec.attention_heads),
        heads_per_group_(spec.attention_heads / spec.nats_heads),
        branch_(spec.delta, context),
        score_(context.Load("nats_layer")),
        mix_(context.Load("nats_out_weights_layer")),
        o_proj_(context.Load("o_proj")),
        rope_(MakeRope(spec.attention_rope)),
        pool_(heads_per_group_ * kPageTokens * key_dim_,
              heads_per_group_ * kPageTokens * value_dim_) {
    if (spec.attention_qk_norm) {
      q_norm_ = Norm(context.loader, context.prefix + "q_norm", *spec.attention_qk_norm);
      k_norm_ = Norm(context.loader, context.prefix + "k_norm", *spec.attention_qk_norm);
    }
    if (spec.delta.output_gate) {
      g_proj_ = context.Load("g_proj");
      delta_weight_ = context.loader.Small(context.prefix + "o_norm.weight1");
      attention_weight_ = context.loader.Small(context.prefix + "o_norm.weight2");
    } else {
      delta_norm_ = Norm(context.loader, context.prefix + "o_norm.0", spec.delta.output_norm);
      attention_norm_ = Norm(context.loader, context.prefix + "o_norm.1", spec.delta.output_norm);
    }
  }

  at::Tensor Forward(const at::Tensor& h, Batch& batch, int64_t layer) const override {
    DeltaBranch::Inputs in = branch_.Project(h, batch, layer);
    const at::Tensor mix = mix_(in.q).view({-1, spec_.attention_heads, 2}).softmax(-1);
    const std::vector<Choices> choices = Choose(h, batch, layer);
    // The linear branch normalises q and k in place: the attention branch goes first.
    const at::Tensor attention = Attend(in, batch, layer, choices);
    at::Tensor delta = Recur(in, batch, layer, choices);
    return o_proj_(Merge(h, delta, attention, mix));
  }

 private:
  LayerState& StateOf(Batch& batch, size_t s, int64_t layer) const {
    return batch.states[s]->layers[static_cast<size_t>(layer)];
  }

  // Pools the layer's input over each chunk and scores those that complete.
  std::vector<Choices> Choose(const at::Tensor& h, Batch& batch, int64_t layer) const {
    std::vector<Choices> choices(batch.states.size());
    std::vector<float> means;
    std::vector<std::pair<size_t, int64_t>> chunks;  // (sequence, absolute chunk)
    const float* rows = h.data_ptr<float>();
    const auto width = static_cast<size_t>(hidden_);
    for (size_t s = 0; s < batch.states.size(); ++s) {
      float* sum = batch.Writable(s, StateOf(batch, s, layer).pooled, hidden_);
      for (int64_t r = batch.offsets[s]; r < batch.offsets[s + 1]; ++r) {
        const float* row = rows + r * RowStride(h);
        for (size_t c = 0; c < width; ++c) sum[c] += row[c];
        const int64_t position = batch.positions[static_cast<size_t>(r)];
        if ((position + 1) % kPageTokens != 0) continue;
        for (size_t c = 0; c < width; ++c) means.push_back(sum[c] / float{kPageTokens});
        chunks.emplace_back(s, position / kPageTokens);
        std::fill_n(sum, width, 0.0f);
      }
    }
    if (chunks.empty()) return choices;
    const auto count = static_cast<int64_t>(chunks.size());
    const at::Tensor scores = score_(at::from_blob(means.data(), {count, hidden_}, at::kFloat));
    const float* score = scores.data_ptr<float>();
    const int64_t value_heads_per_group = spec_.delta.value_heads / spec_.nats_heads;
    for (const auto& [s, chunk] : chunks) {
      // Operation 0 is attention, 1 the delta rule; attention wins ties.
      std::vector<uint8_t> softmax;
      for (int64_t n = 0; n < spec_.nats_heads; ++n, score += 2) {
        softmax.push_back(score[0] >= score[1] ? 1 : 0);
      }
      if (batch.choices != nullptr) {
        batch.choices->OnChunk(layer, static_cast<int64_t>(s), chunk, softmax);
      }
      for (int64_t m = 0; m < spec_.delta.value_heads; ++m) {
        choices[s].keep.push_back(softmax[static_cast<size_t>(m / value_heads_per_group)] ? 0 : 1);
      }
      choices[s].softmax.push_back(std::move(softmax));
    }
    return choices;
  }

  at::Tensor Recur(DeltaBranch::Inputs& in, Batch& batch, int64_t layer,
                   const std::vector<Choices>& choices) const {
    std::vector<kernels::NatsDeltaState> states(batch.states.size());
    for (size_t s = 0; s < states.size(); ++s) {
      LayerState& state = StateOf(batch, s, layer);
      states[s].chunk_start = batch.Writable(s, state.chunk_start, branch_.state_floats());
      states[s].chunk_log_decay = batch.Writable(s, state.chunk_log_decay, spec_.delta.value_heads);
      states[s].first_position = batch.states[s]->length;
      states[s].keep = choices[s].keep.data();
    }
    kernels::DeltaRuleArgs args;
    args.nats = states.data();
    args.decay_over_softmax_chunks = spec_.decay_over_softmax_chunks;
    args.own_chunk = spec_.own_chunk == NatsSpec::OwnChunk::kAttention
                         ? kernels::OwnChunkRule::kPastOnly
                         : kernels::OwnChunkRule::kAll;
    return branch_.Recur(in, batch, layer, args);
  }

  // Everything a pass's attention kernels point into.
  struct Plan {
    std::vector<void*> key_pages, value_pages;  // [tokens * groups]
    std::vector<int64_t> slots;                 // [tokens]
    std::vector<kernels::AttentionBlock> blocks;
    std::vector<std::vector<const void*>> lists;  // the blocks' page lists
    std::vector<KvPageRef> alive;                 // pages that nobody keeps after the pass
  };

  at::Tensor Attend(const DeltaBranch::Inputs& in, Batch& batch, int64_t layer,
                    const std::vector<Choices>& choices) const {
    at::Tensor q = (spec_.attention_after_conv ? in.q : in.raw_q).clone();
    at::Tensor k = (spec_.attention_after_conv ? in.k : in.raw_k).clone();
    const at::Tensor& v = spec_.attention_after_conv ? in.v : in.raw_v;
    if (q_norm_.defined()) {
      q_norm_.InPlace(q);
      k_norm_.InPlace(k);
    }
    if (rope_) {
      rope_->Apply(q, key_dim_, batch.positions);
      rope_->Apply(k, key_dim_, batch.positions);
    }
    Plan plan;
    plan.key_pages.resize(static_cast<size_t>(batch.tokens() * spec_.nats_heads));
    plan.value_pages.resize(plan.key_pages.size());
    plan.slots.resize(static_cast<size_t>(batch.tokens()));
    for (size_t s = 0; s < batch.states.size(); ++s) {
      PlanSequence(batch, s, StateOf(batch, s, layer), choices[s], plan);
    }
    RunAppend(k, v, plan);
    at::Tensor o = at::zeros({batch.tokens(), spec_.attention_heads * value_dim_}, at::kFloat);
    RunAttention(q, o, plan);
    return o;
  }

  // Walks a sequence chunk by chunk: where its keys go, and which pages its queries see.
  void PlanSequence(const Batch& batch, size_t s, LayerState& state, const Choices& choices,
                    Plan& plan) const {
    const auto groups = static_cast<size_t>(spec_.nats_heads);
    state.kv.resize(groups);
    state.own_chunk.resize(groups);
    state.softmax_chunks.resize(groups);
    size_t completed = 0;
    for (int64_t row = batch.offsets[s]; row < batch.offsets[s + 1];) {
      const int64_t in_chunk = batch.positions[static_cast<size_t>(row)] % kPageTokens;
      const int64_t count = std::min(kPageTokens - in_chunk, batch.offsets[s + 1] - row);
      for (size_t g = 0; g < groups; ++g) {
        OwnPage(state.own_chunk[g], in_chunk > 0);
        plan.alive.push_back(state.own_chunk[g]);
        for (int64_t r = row; r < row + count; ++r) {
          const size_t index = static_cast<size_t>(r) * groups + g;
          plan.key_pages[index] = state.own_chunk[g]->keys;
          plan.value_pages[index] = state.own_chunk[g]->values;
        }
        AddBlocks(row, count, in_chunk, static_cast<int64_t>(g), state, plan);
      }
      for (int64_t i = 0; i < count; ++i) plan.slots[static_cast<size_t>(row + i)] = in_chunk + i;
      row += count;
      if (in_chunk + count < kPageTokens) continue;
      for (size_t g = 0; g < groups; ++g) {
        if (choices.softmax[completed][g]) {
          state.kv[g].pages.push_back(state.own_chunk[g]);
          state.kv[g].keys += kPageTokens;
          ++state.softmax_chunks[g];
        }
        state.own_chunk[g].reset();
      }
      ++completed;
    }
  }

  void OwnPage(KvPageRef& page, bool partly_filled) const {
    if (!page) {
      page = pool_.New();
    } else if (page.use_count() > 1 && partly_filled) {
      KvPageRef copy = pool_.New();
      copy->storage.copy_(page->storage);
      page = std::move(copy);
    }
  }

  void AddBlocks(int64_t row, int64_t count, int64_t in_chunk, int64_t group,
                 const LayerState& state, Plan& plan) const {
    const PageList& kept = state.kv[static_cast<size_t>(group)];
    std::vector<const void*> keys, values;
    for (const KvPageRef& page : kept.pages) {
      keys.push_back(page->keys);
      values.push_back(page->values);
    }
    kernels::AttentionBlock block;
    block.group = group;
    if (spec_.own_chunk == NatsSpec::OwnChunk::kDelta) {
      // Every query sees exactly the kept keys: one block each, its last key the last kept one.
      if (kept.keys == 0) return;
      block.query_count = 1;
      block.first_key = kept.keys - 1;
    } else {
      const KvPageRef& own = state.own_chunk[static_cast<size_t>(group)];
      keys.push_back(own->keys);
      values.push_back(own->values);
      block.query_count = count;
      block.first_key = kept.keys + in_chunk;
    }
    plan.lists.push_back(std::move(keys));
    block.key_pages = plan.lists.back().data();
    plan.lists.push_back(std::move(values));
    block.value_pages = plan.lists.back().data();
    for (int64_t q = 0; q < count; q += block.query_count) {
      block.query_row = row + q;
      plan.blocks.push_back(block);
    }
  }

  void RunAppend(const at::Tensor& k, const at::Tensor& v, const Plan& plan) const {
    kernels::AppendKvArgs args;
    args.k = k.data_ptr<float>();
    args.k_stride = RowStride(k);
    args.v = v.data_ptr<float>();
    args.v_stride = RowStride(v);
    args.key_pages = plan.key_pages.data();
    args.value_pages = plan.value_pages.data();
    args.slots = plan.slots.data();
    args.tokens = k.size(0);
    args.groups = spec_.nats_heads;
    args.kv_heads_per_group = heads_per_group_;
    args.key_dim = key_dim_;
    args.value_dim = value_dim_;
    kernels::RunAppendKvCpu(args);
  }

  void RunAttention(const at::Tensor& q, at::Tensor& o, const Plan& plan) const {
    if (plan.blocks.empty()) return;
    kernels::PagedAttentionArgs args;
    args.q = q.data_ptr<float>();
    args.q_stride = RowStride(q);
    args.o = o.data_ptr<float>();
    args.o_stride = RowStride(o);
    args.blocks = plan.blocks.data();
    args.block_count = static_cast<int64_t>(plan.blocks.size());
    args.groups = spec_.nats_heads;
    args.query_heads = spec_.attention_heads;
    args.kv_heads_per_group = heads_per_group_;
    args.key_dim = key_dim_;
    args.value_dim = value_dim_;
    args.scale = 1.0 / std::sqrt(static_cast<double>(key_dim_));
    kernels::RunPagedAttentionCpu(args);
  }

  at::Tensor Merge(const at::Tensor& h, at::Tensor& delta, const at::Tensor& attention,
                   const at::Tensor& mix) const {
    if (!g_proj_.defined()) {
      delta_norm_.InPlace(delta);
      return delta.add_(attention_norm_(attention));
    }
    const at::Tensor gate = g_proj_(h);
    at::Tensor y = at::empty_like(delta);
    kernels::MergeNormArgs args;
    args.delta = delta.data_ptr<float>();
    args.attention = attention.data_ptr<float>();
    args.gate = gate.data_ptr<float>();
    args.gate_stride = RowStride(gate);
    args.mix = mix.data_ptr<float>();
    args.delta_weight = delta_weight_.data_ptr<float>();
    args.attention_weight = attention_weight_.data_ptr<float>();
    args.y = y.data_ptr<float>();
    args.rows = h.size(0);
    args.groups = spec_.attention_heads;
    args.width = value_dim_;
    args.eps = spec_.delta.output_norm.eps;
    kernels::RunMergeNormCpu(args);
    return y;
  }

  NatsSpec spec_;
  int64_t hidden_;
  int64_t key_dim_, value_dim_;  ///< per attention head
  int64_t heads_per_group_;      ///< attention heads a NAtS head
  DeltaBranch branch_;
  Linear score_, mix_, g_proj_, o_proj_;
  Norm q_norm_, k_norm_, delta_norm_, attention_norm_;
  at::Tensor delta_weight_, attention_weight_;
  std::optional<Rope> rope_;
  mutable PagePool pool_;
};

}  // namespace

std::unique_ptr<Mixer> MakeNats(const NatsSpec& spec, const MixerContext& context) {
  return std::make_unique<Nats>(spec, context);
}

}  // namespace natsl::model_adapters::native
