// All chunks at once but for the states at their starts.
#include "training/forms/delta_rule.h"

#include "model_adapters/native/torch_headers.h"
#include "training/forms/chunk_scan.h"
#include "training/forms/common.h"
#include "training/forms/decayed_scores.h"
#include "training/forms/unit_lower_inverse.h"

namespace natsl::training {

at::Tensor DeltaRule(const DeltaRuleInputs& in) {
  const at::ScalarType dtype = in.v.scalar_type();
  const int64_t batch = in.q.size(0), heads = in.q.size(1), tokens = in.q.size(2);
  const int64_t groups = batch * heads;
  const at::Tensor q = Chunks(PadToChunks(in.q)), k = Chunks(PadToChunks(in.k));
  const at::Tensor v = Chunks(PadToChunks(in.v));
  const at::Tensor beta = PadToChunks(in.beta).reshape({-1, kChunkTokens, 1}).to(dtype);
  const int64_t keys = k.size(2), values = v.size(2);

  at::Tensor b, decayed_q = q, tail_k = k;
  at::Tensor scaled_k = k * beta;
  at::Tensor decayed_k = scaled_k;
  at::Tensor decay;  // of whole chunks, [groups, chunks]
  if (in.g.defined()) {
    b = PadToChunks(in.g).reshape({-1, kChunkTokens}).cumsum(1);
    const at::Tensor from_start = b.exp().to(dtype).unsqueeze(2);
    const at::Tensor last = b.narrow(1, kChunkTokens - 1, 1);
    decayed_q = q * from_start;
    decayed_k = scaled_k * from_start;
    tail_k = k * (last - b).exp().to(dtype).unsqueeze(2);
    decay = last.exp().view({groups, -1});
  }
  const DeltaScores scores = DecayedDeltaScores(q, scaled_k, k, b);
  const at::Tensor inverse = UnitLowerInverse(scores.corrections);
  const at::Tensor u = at::bmm(inverse, v * beta);
  const at::Tensor w = at::bmm(inverse, decayed_k);

  const at::Tensor tail = tail_k.transpose(1, 2);
  at::Tensor erase = at::bmm(tail, w).view({groups, -1, keys, keys});
  at::Tensor increment = at::bmm(tail, u).view({groups, -1, keys, values});
  if (in.keep.defined()) {
    const at::Tensor keep = in.keep.reshape({groups, -1});
    const at::Tensor factor = keep.to(dtype).unsqueeze(2).unsqueeze(3);
    erase = erase * factor;
    increment = increment * factor;
    if (decay.defined() && !in.decay_over_dropped) {
      decay = at::where(keep.detach() > 0, decay, at::ones_like(decay));
    }
  }
  const at::Tensor states = ErasingScan(erase, increment, decay).view({-1, keys, values});
  const at::Tensor corrected = at::baddbmm(u, w, states, 1, -1);
  const at::Tensor o = at::baddbmm(at::bmm(decayed_q, states), scores.scores, corrected);
  return Tokens(o, batch, heads, tokens);
}

}  // namespace natsl::training
