// Dense attention with the gates' logarithms as a bias of the scores.
#include "training/forms/chunk_attention.h"

#include "model_adapters/native/torch_headers.h"
#include "training/forms/common.h"

namespace natsl::training {
namespace {

// Finite, so that a block of keys that are all hidden stays a number; exp of it is zero.
constexpr double kHidden = -30000;

}  // namespace

at::Tensor ChunkAttention(const at::Tensor& q_in, const at::Tensor& k_in, const at::Tensor& v_in,
                          const at::Tensor& chosen, const at::Tensor& gate, double scale) {
  const at::Tensor q = PadToChunks(q_in), k = PadToChunks(k_in), v = PadToChunks(v_in);
  const int64_t tokens = q.size(2);
  const at::TensorOptions options = q.options();
  const at::Tensor position = at::arange(tokens, options.dtype(at::kLong));
  const at::Tensor chunk = position.floor_divide(kChunkTokens);
  const at::Tensor past = chunk.unsqueeze(1) > chunk.unsqueeze(0);
  // The own chunk: 0 up to the query, hidden after it. (Earlier chunks are overwritten below.)
  const at::Tensor own = at::full({tokens, tokens}, kHidden, options).triu(1).to(options.dtype());
  const at::Tensor bias = at::where(chosen, gate.log(), at::full({}, kHidden, gate.options()));
  const at::Tensor keys = Repeat(bias.to(q.scalar_type()), kChunkTokens, 2);
  const at::Tensor mask = at::where(past, keys.unsqueeze(2), own);
  return at::scaled_dot_product_attention(q, k, v, mask, 0, false, scale)
      .narrow(2, 0, q_in.size(2));
}

}  // namespace natsl::training
