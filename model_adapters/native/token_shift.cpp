// The token shift with its carried row.
#include "model_adapters/native/token_shift.h"

#include <cstring>

namespace natsl::model_adapters::native {

at::Tensor ShiftDifference(const at::Tensor& h, Batch& batch, int64_t layer,
                           at::Tensor& (*tail_of)(LayerState&)) {
  const int64_t width = h.size(1);
  const size_t row_bytes = static_cast<size_t>(width) * sizeof(float);
  at::Tensor previous = at::empty_like(h);
  const float* rows = h.data_ptr<float>();
  float* shifted = previous.data_ptr<float>();
  for (size_t s = 0; s < batch.states.size(); ++s) {
    const int64_t begin = batch.offsets[s], count = batch.tokens_of(s);
    if (count == 0) continue;
    at::Tensor& state = tail_of(batch.states[s]->layers[static_cast<size_t>(layer)]);
    float* tail = batch.Writable(s, state, width);
    std::memcpy(shifted + begin * width, tail, row_bytes);
    std::memcpy(shifted + (begin + 1) * width, rows + begin * width,
                static_cast<size_t>(count - 1) * row_bytes);
    std::memcpy(tail, rows + (begin + count - 1) * width, row_bytes);
  }
  return previous.sub_(h);
}

}  // namespace natsl::model_adapters::native
