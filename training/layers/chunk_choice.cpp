// The scores and the straight-through gates.
#include "training/layers/chunk_choice.h"

#include "model_adapters/native/torch_headers.h"
#include "training/forms/common.h"

namespace natsl::training {

ChunkChoice ChooseChunks(const at::Tensor& h, const at::Tensor& weight, int64_t heads,
                         std::vector<at::Tensor>* shares) {
  const int64_t complete = h.size(1) / kChunkTokens;
  const bool partial = h.size(1) % kChunkTokens != 0;
  const at::Tensor pooled = h.narrow(1, 0, complete * kChunkTokens)
                                .unflatten(1, {complete, kChunkTokens})
                                .mean(2, false, weight.scalar_type());
  const at::Tensor logits = at::linear(pooled, weight).unflatten(2, {heads, 2});
  const at::Tensor soft = logits.softmax(-1).permute({3, 0, 2, 1});  // [2, B, heads, chunks]
  ChunkChoice choice;
  choice.softmax = (logits.select(3, 0) >= logits.select(3, 1)).transpose(1, 2);
  const at::Tensor through = soft - soft.detach() + 1;
  choice.softmax_gate = through[0];
  choice.linear_gate = through[1] * choice.softmax.logical_not();
  if (shares != nullptr) {
    shares->push_back(choice.softmax.to(at::kFloat).mean(c10::IntArrayRef{0, 2}));
  }
  if (partial) {
    choice.softmax = at::constant_pad_nd(choice.softmax, {0, 1}, true);
    choice.softmax_gate = at::constant_pad_nd(choice.softmax_gate, {0, 1}, 1);
    choice.linear_gate = at::constant_pad_nd(choice.linear_gate, {0, 1}, 1);
  }
  return choice;
}

}  // namespace natsl::training
