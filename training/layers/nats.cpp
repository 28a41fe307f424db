// NAtS-L: per 64-token chunk and head, softmax attention or Gated DeltaNet keeps the chunk.

#include <cmath>

#include "model_adapters/native/torch_headers.h"
#include "training/forms/chunk_attention.h"
#include "training/forms/common.h"
#include "training/layers/chunk_choice.h"
#include "training/layers/delta_branch.h"
#include "training/layers/ops.h"

namespace natsl::training {

using model_adapters::NatsSpec;

namespace {

at::Tensor Spread(const at::Tensor& x, int64_t heads) { return Repeat(x, heads / x.size(1), 1); }

at::Tensor Attend(const NatsSpec& spec, const DeltaProjections& projections,
                  const ChunkChoice& choice, const LayerWeights& weights, const Pass& pass) {
  const bool conv = spec.attention_after_conv;
  const auto heads = [&](const at::Tensor& x) {
    return x.unflatten(2, {spec.attention_heads, -1});
  };
  at::Tensor q = heads(conv ? projections.q : projections.raw_q);
  at::Tensor k = heads(conv ? projections.k : projections.raw_k);
  const at::Tensor v = heads(conv ? projections.v : projections.raw_v);
  if (spec.attention_qk_norm) {
    q = RmsHeads(q, spec.attention_qk_norm->eps, weights["q_norm.weight"]);
    k = RmsHeads(k, spec.attention_qk_norm->eps, weights["k_norm.weight"]);
  }
  if (spec.attention_rope) {
    const auto tables = pass.constants->Rope(*spec.attention_rope, pass.tokens, pass.dtype);
    q = Rotate(q, tables.cosines, tables.sines);
    k = Rotate(k, tables.cosines, tables.sines);
  }
  const double scale = 1 / std::sqrt(static_cast<double>(q.size(3)));
  return ChunkAttention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2),
                        Spread(choice.softmax, spec.attention_heads),
                        Spread(choice.softmax_gate, spec.attention_heads), scale)
      .transpose(1, 2);
}

// delta [B, T, value heads, V], attention [B, T, Ha, Va] → [B, T, channels].
at::Tensor Merge(const NatsSpec& spec, const DeltaProjections& projections, const at::Tensor& delta,
                 const at::Tensor& attention, const LayerWeights& weights) {
  const double eps = spec.delta.output_norm.eps;
  if (!spec.delta.output_gate) {
    const at::Tensor first = RmsHeads(delta, eps, weights["o_norm.0.weight"]);
    const at::Tensor second = RmsHeads(attention, eps, weights["o_norm.1.weight"]);
    return first.flatten(2) + second.flatten(2);
  }
  // The mix's order is (linear, attention), the opposite of the scores'.
  const at::Tensor mix = Linear(projections.q, weights["nats_out_weights_layer.weight"])
                             .unflatten(2, {spec.attention_heads, 2})
                             .softmax(-1);
  const at::Tensor split = delta.flatten(2).unflatten(2, {spec.attention_heads, -1});
  const at::Tensor gate = projections.gate.unflatten(2, {spec.attention_heads, -1});
  const at::Tensor first = RmsHeads(split, eps, weights["o_norm.weight1"], gate);
  const at::Tensor second = RmsHeads(attention, eps, weights["o_norm.weight2"], gate);
  return at::addcmul(first * mix.narrow(3, 0, 1), second, mix.narrow(3, 1, 1)).flatten(2);
}

}  // namespace

at::Tensor Mix(const NatsSpec& spec, const at::Tensor& h, const LayerWeights& weights,
               const Pass& pass) {
  const DeltaProjections projections = ProjectDelta(spec.delta, h, weights);
  const ChunkChoice choice =
      ChooseChunks(h, weights.Master("nats_layer.weight"), spec.nats_heads, pass.softmax_shares);
  DeltaRuleInputs inputs = DeltaInputs(spec.delta, projections);
  inputs.keep = Spread(choice.linear_gate, spec.delta.value_heads);
  inputs.decay_over_dropped = spec.decay_over_softmax_chunks;
  const at::Tensor delta = DeltaRule(inputs).transpose(1, 2);
  const at::Tensor attention = Attend(spec, projections, choice, weights, pass);
  return Linear(Merge(spec, projections, delta, attention, weights), weights["o_proj.weight"]);
}

}  // namespace natsl::training
