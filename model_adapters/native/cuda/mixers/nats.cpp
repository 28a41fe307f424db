// NAtS-L: per 64-token chunk and head, softmax attention or Gated DeltaNet keeps the chunk.
#include "kernels/cuda/nats.h"

#include <cmath>

#include "core/error.h"
#include "kernels/cuda/norm.h"
#include "model_adapters/native/cuda/engine_kernels.h"
#include "model_adapters/native/cuda/mixers/delta_net.h"
#include "model_adapters/native/cuda/mixers/paged.h"
#include "model_adapters/native/cuda/nats_step.h"
#include "model_adapters/native/state.h"

namespace natsl::model_adapters::native::cuda {
namespace {

using kernels::kPageTokens;

class Nats final : public Mixer {
 public:
  Nats(const NatsSpec& spec, const MixerContext& context)
      : spec_(spec),
        layer_(context.layer),
        hidden_(context.hidden),
        key_dim_(spec.delta.heads * spec.delta.key_dim / spec.attention_heads),
        value_dim_(spec.delta.value_heads * spec.delta.value_dim / spec.attention_heads),
        branch_(spec.delta, context),
        score_(context.Load({"nats_layer"})),
        mix_(context.Load({"nats_out_weights_layer"})),
        o_proj_(context.Load({"o_proj"})),
        rope_(MakeRope(spec.attention_rope)) {
    paged_.lists = context.pool.AddLists(spec.nats_heads, spec.attention_heads / spec.nats_heads,
                                         key_dim_, value_dim_, context.loader.dtype(),
                                         /*selected=*/true);
    paged_.groups = spec.nats_heads;
    paged_.query_heads = spec.attention_heads;
    paged_.scale = 1.0 / std::sqrt(static_cast<double>(key_dim_));
    paged_.own_chunk = spec.own_chunk != NatsSpec::OwnChunk::kDelta;
    if (spec.attention_qk_norm) {
      q_norm_ = Norm(context.loader, context.prefix + "q_norm", *spec.attention_qk_norm);
      k_norm_ = Norm(context.loader, context.prefix + "k_norm", *spec.attention_qk_norm);
      // |q| <= sqrt(K) max |w_q|, so that a score is at most scale K max |w_q| max |w_k|.
      const auto largest = [](const Norm& norm) {
        return norm.weight().defined() ? norm.weight().abs().max().item<double>() : 1.0;
      };
      paged_.score_bound =
          paged_.scale * static_cast<double>(key_dim_) * largest(q_norm_) * largest(k_norm_);
    }
    if (spec.delta.output_gate) {
      delta_weight_ = context.loader.Small(context.prefix + "o_norm.weight1");
      attention_weight_ = context.loader.Small(context.prefix + "o_norm.weight2");
    } else {
      delta_norm_ = Norm(context.loader, context.prefix + "o_norm.0", spec.delta.output_norm);
      attention_norm_ = Norm(context.loader, context.prefix + "o_norm.1", spec.delta.output_norm);
    }
    pooled_ = context.pool.AddFixed(StateKind::kRecurrent, hidden_);
    chunk_start_ = context.pool.AddFixed(StateKind::kRecurrent, branch_.state_floats());
    chunk_decay_ = context.pool.AddFixed(StateKind::kRecurrent, spec.delta.value_heads);
  }

  at::Tensor Forward(Hidden& h, const Pass& pass) const override {
    if (pass.decode()) return Step(h, pass);
    const at::Tensor softmax = Choose(h.tensor(), pass);
    const kernels::cuda::NatsDelta nats = Branch(softmax, pass);
    DeltaBranch::Inputs in;
    const at::Tensor delta = branch_.Forward(h, pass, &nats, in);
    const at::Tensor attention = EmptyOn(delta.sizes(), h.type());
    at::Tensor q, k;
    const at::Tensor v = spec_.attention_after_conv ? in.v : in.raw_v;
    QueriesAndKeys(in, pass, q, k);
    const kernels::cuda::PageTable table = pass.pool->table(paged_.lists);
    at::Tensor memory;
    const kernels::cuda::ChunkPages pages = paged_.LayOut(pass, memory);
    kernels::cuda::RunRouteChunks(*pass.plan, softmax.data_ptr<uint8_t>(), pass.lists, table, pages,
                                  pass.stream);
    paged_.Store(k, v, pages, pass);
    paged_.Prefill(q, k, v, attention, pages, pass);
    kernels::cuda::RunReleasePages(pages.released, pass.sequences * paged_.groups, table,
                                   pass.stream);
    return o_proj_(Merge(in, delta, attention, pass));
  }

 private:
  at::Tensor Step(Hidden& h, const Pass& pass) const {
    at::Tensor softmax = ChooseStep(h, pass);
    if (!softmax.defined()) softmax = Choose(h.tensor(), pass);
    const kernels::cuda::NatsDelta nats = Branch(softmax, pass);
    DeltaBranch::Inputs in;
    const at::Tensor delta = branch_.Forward(h, pass, &nats, in);
    const at::Tensor attention = EmptyOn(delta.sizes(), h.type());
    PagedAttention::Heads heads;
    if (q_norm_.defined()) heads = {&q_norm_, &k_norm_, nullptr};
    if (rope_) heads.rope = &*rope_;
    const bool conv = spec_.attention_after_conv, join = !in.gate.defined();
    const PagedAttention::Parts parts =
        paged_.Step(conv ? in.q : in.raw_q, conv ? in.k : in.raw_k, conv ? in.v : in.raw_v,
                    attention, heads, pass, join);
    if (!join) return o_proj_(MergeStep(in, delta, attention, parts, softmax, pass));
    kernels::cuda::RunCloseChunks(pass.positions, softmax.data_ptr<uint8_t>(), pass.lists,
                                  pass.sequences, pass.pool->table(paged_.lists), pass.stream);
    return o_proj_(Merge(in, delta, attention, pass));
  }

  int64_t ChoiceRows(const Pass& pass) const {
    return pass.decode() ? pass.sequences : pass.plan->max_chunks;
  }

  // A step's choices in one kernel; undefined where the sizes don't fit it.
  at::Tensor ChooseStep(const Hidden& h, const Pass& pass) const {
    RouteStepArgs args;
    args.heads = spec_.nats_heads;
    if (!h.Describe(args.input) || !RouteStepFits(args)) return {};
    const at::Tensor softmax = EmptyOn({pass.sequences, spec_.nats_heads}, at::kByte);
    args.score_weight = score_.weight().data_ptr();
    args.score_bias = DataOrNull(score_.bias());
    args.positions = pass.positions;
    args.slots = pass.slots;
    args.pooled = pass.pool->fixed(pooled_);
    args.layer = layer_;
    args.forced_share = pass.choices->forced_share.value_or(-1);
    args.softmax = softmax.data_ptr<uint8_t>();
    args.counts = CountsOf(pass);
    RunRouteStep(args, pass.stream);
    return softmax;
  }

  unsigned long long* CountsOf(const Pass& pass) const {
    return pass.choices->counts + layer_ * pass.choices->most_heads * 2;
  }

  // [chunks, heads]: 1 where softmax attention keeps the chunk.
  at::Tensor Choose(const at::Tensor& h, const Pass& pass) const {
    const int64_t rows = ChoiceRows(pass);
    const at::Tensor mean = EmptyOn({rows, hidden_}, h.scalar_type());
    kernels::cuda::PoolChunksArgs pool;
    pool.dtype = DTypeOfTensor(h);
    pool.h = h.data_ptr();
    pool.h_stride = h.stride(0);
    pool.plan = pass.plan;
    pool.positions = pass.decode() ? pass.positions : nullptr;
    pool.pooled = pass.pool->fixed(pooled_);
    pool.slots = pass.slots;
    pool.mean = mean.data_ptr();
    pool.sequences = pass.sequences;
    pool.hidden = hidden_;
    kernels::cuda::RunPoolChunks(pool, pass.stream);
    const at::Tensor scores = score_(mean);
    const at::Tensor softmax = EmptyOn({rows, spec_.nats_heads}, at::kByte);
    at::Tensor forced;
    if (pass.choices->forced_share) {
      forced = at::empty_like(softmax);
      ForceChoicesArgs force;
      force.plan = pass.plan;
      force.positions = pool.positions;
      force.rows = rows;
      force.heads = spec_.nats_heads;
      force.layer = layer_;
      force.share = *pass.choices->forced_share;
      force.forced = forced.data_ptr<uint8_t>();
      RunForceChoices(force, pass.stream);
    }
    kernels::cuda::ChooseChunksArgs choose;
    choose.dtype = DTypeOfTensor(scores);
    choose.scores = scores.data_ptr();
    choose.scores_stride = scores.stride(0);
    choose.forced = forced.defined() ? forced.data_ptr<uint8_t>() : nullptr;
    choose.softmax = softmax.data_ptr<uint8_t>();
    choose.rows = rows;
    choose.heads = spec_.nats_heads;
    kernels::cuda::RunChooseChunks(choose, pass.stream);
    if (pass.choices->next != nullptr) AskHost(softmax, pass);
    CountChoicesArgs count;
    count.plan = pass.plan;
    count.positions = pool.positions;
    count.rows = rows;
    count.heads = spec_.nats_heads;
    count.softmax = softmax.data_ptr<uint8_t>();
    count.counts = CountsOf(pass);
    RunCountChoices(count, pass.stream);
    return softmax;
  }

  // Whoever observes or injects choices sees each completed chunk on the host.
  void AskHost(const at::Tensor& softmax, const Pass& pass) const {
    at::Tensor host = softmax.cpu();
    auto* values = host.data_ptr<uint8_t>();
    const int64_t heads = spec_.nats_heads;
    const auto ask = [&](int64_t row, int64_t sequence, int64_t chunk) {
      std::vector<uint8_t> choice(values + row * heads, values + (row + 1) * heads);
      pass.choices->next->OnChunk(layer_, sequence, chunk, choice);
      std::copy(choice.begin(), choice.end(), values + row * heads);
    };
    if (pass.decode()) throw InternalError("nats: a decode step asks no host");
    int64_t row = 0;
    for (int64_t s = 0; s < pass.sequences; ++s) {
      const auto i = static_cast<size_t>(s);
      int64_t position = pass.host_first[i];
      const int64_t end = position + pass.host_offsets[i + 1] - pass.host_offsets[i];
      while (position < end) {
        const int64_t chunk = position / kPageTokens;
        const int64_t next = (chunk + 1) * kPageTokens;
        if (next <= end) ask(row, s, chunk);
        position = std::min(next, end);
        ++row;
      }
    }
    softmax.copy_(host);
  }

  void QueriesAndKeys(const DeltaBranch::Inputs& in, const Pass& pass, at::Tensor& q,
                      at::Tensor& k) const {
    q = spec_.attention_after_conv ? in.q : in.raw_q;
    k = spec_.attention_after_conv ? in.k : in.raw_k;
    if (q_norm_.defined()) {
      q = q_norm_(q);
      k = k_norm_(k);
    } else if (rope_) {
      q = q.clone();
      k = k.clone();
    }
    if (!rope_) return;
    rope_->ApplyBoth(q, k, key_dim_, pass);
  }

  // What the linear branch needs to know of the choices.
  kernels::cuda::NatsDelta Branch(const at::Tensor& softmax, const Pass& pass) const {
    kernels::cuda::NatsDelta nats;
    nats.chunk_start = pass.pool->fixed(chunk_start_);
    nats.chunk_log_decay = pass.pool->fixed(chunk_decay_);
    nats.softmax = softmax.data_ptr<uint8_t>();
    nats.softmax_heads = spec_.nats_heads;
    nats.decay_over_softmax_chunks = spec_.decay_over_softmax_chunks;
    nats.own_chunk = spec_.own_chunk == NatsSpec::OwnChunk::kAttention
                         ? kernels::OwnChunkRule::kPastOnly
                         : kernels::OwnChunkRule::kAll;
    return nats;
  }

  at::Tensor MergeStep(const DeltaBranch::Inputs& in, const at::Tensor& delta,
                       const at::Tensor& attention, const PagedAttention::Parts& parts,
                       const at::Tensor& softmax, const Pass& pass) const {
    const at::Tensor y = at::empty_like(delta);
    MergeStepArgs args;
    args.dtype = DTypeOfTensor(delta);
    args.parts = reinterpret_cast<const float*>(parts.memory.data_ptr());
    args.splits = parts.splits;
    args.attention = attention.data_ptr();
    args.delta = delta.data_ptr();
    args.gate = in.gate.data_ptr();
    args.gate_stride = in.gate.stride(0);
    args.q = in.q.data_ptr();
    args.q_stride = in.q.stride(0);
    args.mix_weight = mix_.weight().data_ptr();
    args.mix_bias = DataOrNull(mix_.bias());
    args.mix_in = mix_.weight().size(1);
    args.delta_weight = delta_weight_.data_ptr<float>();
    args.attention_weight = attention_weight_.data_ptr<float>();
    args.eps = spec_.delta.output_norm.eps;
    args.y = y.data_ptr();
    args.sequences = pass.sequences;
    args.heads = spec_.attention_heads;
    args.width = value_dim_;
    args.positions = pass.positions;
    args.softmax = softmax.data_ptr<uint8_t>();
    args.lists = pass.lists;
    args.table = pass.pool->table(paged_.lists);
    RunMergeStep(args, pass.stream);
    return y;
  }

  at::Tensor Merge(const DeltaBranch::Inputs& in, const at::Tensor& delta,
                   const at::Tensor& attention, const Pass& pass) const {
    if (!in.gate.defined()) {
      delta_norm_.Into(delta, delta);
      return delta + attention_norm_(attention);
    }
    const at::Tensor logits = mix_(in.q);
    const at::Tensor mix = EmptyOn({pass.tokens, spec_.attention_heads, 2}, at::kFloat);
    kernels::cuda::PairSoftmaxArgs pairs;
    pairs.dtype = DTypeOfTensor(logits);
    pairs.logits = logits.data_ptr();
    pairs.logits_stride = logits.stride(0);
    pairs.mix = mix.data_ptr<float>();
    pairs.rows = pass.tokens;
    pairs.pairs = spec_.attention_heads;
    kernels::cuda::RunPairSoftmax(pairs, pass.stream);
    const at::Tensor y = at::empty_like(delta);
    kernels::MergeNormArgs args;
    args.dtype = DTypeOfTensor(delta);
    args.delta = delta.data_ptr();
    args.attention = attention.data_ptr();
    args.gate = in.gate.data_ptr();
    args.gate_stride = in.gate.stride(0);
    args.mix = mix.data_ptr<float>();
    args.delta_weight = delta_weight_.data_ptr<float>();
    args.attention_weight = attention_weight_.data_ptr<float>();
    args.y = y.data_ptr();
    args.rows = pass.tokens;
    args.groups = spec_.attention_heads;
    args.width = value_dim_;
    args.eps = spec_.delta.output_norm.eps;
    kernels::cuda::RunMergeNorm(args, pass.stream);
    return y;
  }

  NatsSpec spec_;
  int64_t layer_, hidden_;
  int64_t key_dim_, value_dim_;  ///< per attention head
  DeltaBranch branch_;
  Projection score_, mix_, o_proj_;
  Norm q_norm_, k_norm_, delta_norm_, attention_norm_;
  at::Tensor delta_weight_, attention_weight_;
  std::optional<Rope> rope_;
  PagedAttention paged_;
  int64_t pooled_ = 0, chunk_start_ = 0, chunk_decay_ = 0;
};

}  // namespace

std::unique_ptr<Mixer> MakeNats(const NatsSpec& spec, const MixerContext& context) {
  return std::make_unique<Nats>(spec, context);
}

}  // namespace natsl::model_adapters::native::cuda
