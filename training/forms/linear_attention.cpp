// Inside a chunk by scores, between chunks by the states at their starts.
#include "training/forms/linear_attention.h"

#include "model_adapters/native/torch_headers.h"
#include "training/forms/chunk_scan.h"
#include "training/forms/common.h"
#include "training/forms/decayed_scores.h"
#include "training/forms/vector_scores.h"

namespace natsl::training {
at::Tensor ScalarDecayAttention(const at::Tensor& q_in, const at::Tensor& k_in,
                                const at::Tensor& v_in, const at::Tensor& g) {
  const at::ScalarType dtype = v_in.scalar_type();
  const int64_t batch = q_in.size(0), heads = q_in.size(1), groups = batch * heads;
  const at::Tensor q = Chunks(PadToChunks(q_in)), k = Chunks(PadToChunks(k_in));
  const at::Tensor v = Chunks(PadToChunks(v_in));
  const at::Tensor b = PadToChunks(g).reshape({-1, kChunkTokens}).cumsum(1);
  const at::Tensor last = b.narrow(1, kChunkTokens - 1, 1);
  const at::Tensor tail_k = k * (last - b).exp().to(dtype).unsqueeze(2);
  const at::Tensor increment =
      at::bmm(tail_k.transpose(1, 2), v).view({groups, -1, k.size(2), v.size(2)});
  const at::Tensor states =
      DecayingScan(increment, last.exp().view({groups, -1, 1})).view({-1, k.size(2), v.size(2)});
  const at::Tensor scores = DecayedScores(q, k, b);
  const at::Tensor past = at::bmm(q * b.exp().to(dtype).unsqueeze(2), states);
  return Tokens(at::baddbmm(past, scores, v), batch, heads, q_in.size(2));
}

at::Tensor VectorDecayAttention(const at::Tensor& q_in, const at::Tensor& k_in,
                                const at::Tensor& v_in, const at::Tensor& g_in,
                                const at::Tensor& bonus) {
  const at::ScalarType dtype = v_in.scalar_type();
  const int64_t batch = q_in.size(0), heads = q_in.size(1), groups = batch * heads;
  const at::Tensor q = Chunks(PadToChunks(q_in)), k = Chunks(PadToChunks(k_in));
  const at::Tensor v = Chunks(PadToChunks(v_in)), g = Chunks(PadToChunks(g_in));
  const at::Tensor b = g.cumsum(1);
  const at::Tensor read = bonus.defined() ? b - g : b;
  const at::Tensor last = b.narrow(1, kChunkTokens - 1, 1);
  const at::Tensor tail_k = k * (last - b).exp().to(dtype);
  const at::Tensor increment =
      at::bmm(tail_k.transpose(1, 2), v).view({groups, -1, k.size(2), v.size(2)});
  const at::Tensor states = DecayingScan(increment, last.exp().view({groups, -1, k.size(2)}))
                                .view({-1, k.size(2), v.size(2)});
  at::Tensor own = q * k;
  if (bonus.defined()) {
    own = own.view({batch, heads, -1, k.size(2)}) * bonus.to(dtype).unsqueeze(1);
    own = own.view({-1, kChunkTokens, k.size(2)});
  }
  const at::Tensor past = at::bmm(q * read.exp().to(dtype), states);
  const at::Tensor chunk = at::baddbmm(past, VectorDecayScores(q, k, read, b), v);
  return Tokens(at::addcmul(chunk, own.sum(2, true), v), batch, heads, q_in.size(2));
}

}  // namespace natsl::training
