// [[P, 0], [B, Q]]^-1 = [[P^-1, 0], [-Q^-1 B P^-1, Q^-1]], from blocks of 1 upwards. Up to 16 whole
// 16 x 16 blocks are multiplied, the pairs of a level picked by a mask; above, the halves alone.
#include "training/forms/unit_lower_inverse.h"

#include <mutex>

#include "core/error.h"
#include "model_adapters/native/torch_headers.h"
#include "training/forms/common.h"
#include "training/layers/device_ops.h"
#include "training/operator.h"

namespace natsl::training {
namespace {

constexpr int64_t kBase = 16;
constexpr int64_t kBaseLevels[] = {1, 2, 4, 8};

// [levels + 1, 16, 16]: the identity, then each level's lower left blocks.
at::Tensor MakeMasks() {
  at::Tensor masks = at::zeros({5, kBase, kBase}, at::kDouble);
  auto values = masks.accessor<double, 3>();
  for (int64_t i = 0; i < kBase; ++i) values[0][i][i] = 1;
  for (int64_t level = 0; level < 4; ++level) {
    const int64_t s = kBaseLevels[level];
    for (int64_t i = 0; i < kBase; ++i) {
      for (int64_t j = 0; j < kBase; ++j) {
        const bool pair = i / (2 * s) == j / (2 * s) && i / s % 2 == 1 && j / s % 2 == 0;
        values[level + 1][i][j] = pair ? 1 : 0;
      }
    }
  }
  return masks;
}

// Made on the first use on a device. Never freed: a device's context may end before statics do.
at::Tensor Masks(const at::Tensor& like) {
  static auto* cache = new std::map<std::string, at::Tensor>();
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  at::Tensor& masks = (*cache)[like.device().str() + c10::toString(like.scalar_type())];
  if (!masks.defined()) masks = MakeMasks().to(like.options());
  return masks;
}

// a [N, C, C] → [N * count, s, s]: blocks `step` rows and columns apart, the first at (row, 0).
at::Tensor Blocks(const at::Tensor& a, int64_t count, int64_t s, int64_t step, int64_t row) {
  const int64_t size = a.size(1);
  return a
      .as_strided({a.size(0), count, s, s}, {size * size, step * (size + 1), size, 1},
                  a.storage_offset() + row * size)
      .reshape({-1, s, s});
}

at::Tensor Invert(const at::Tensor& a) {
  const int64_t size = a.size(1);
  const at::Tensor base = Blocks(a, size / kBase, kBase, kBase, 0);
  const at::Tensor masks = Masks(a);
  at::Tensor inverse = at::addcmul(masks[0], base, masks[1], -1);
  for (int64_t level = 1; level < 4; ++level) {
    const at::Tensor product = at::bmm(at::mul(base, masks[level + 1]), inverse);
    inverse = at::baddbmm(inverse, inverse, product, 1, -1);
  }
  for (int64_t s = kBase; s < size; s *= 2) {
    const at::Tensor lower = Blocks(a, size / (2 * s), s, 2 * s, s);
    const at::Tensor halves = inverse.view({-1, 2, s, s});
    const at::Tensor first = halves.select(1, 0), second = halves.select(1, 1);
    at::Tensor next = at::zeros({first.size(0), 2 * s, 2 * s}, a.options());
    next.narrow(1, 0, s).narrow(2, 0, s).copy_(first);
    next.narrow(1, s, s).narrow(2, s, s).copy_(second);
    next.narrow(1, s, s).narrow(2, 0, s).sub_(at::bmm(second, at::bmm(lower, first)));
    inverse = next;
  }
  return inverse;
}

class InverseOperator final : public Operator {
 public:
  Tensors Forward(const Tensors& in, Tensors& saved) override {
    saved = {InverseOf(in[0])};
    return saved;
  }

  // d(A^-1) = -A^-1 dA A^-1.
  Tensors Backward(const Tensors& gradients, const Tensors& saved) override {
    const at::Tensor transposed = saved[0].transpose(1, 2);
    const at::Tensor left = at::bmm(transposed, gradients[0]);
    return {at::baddbmm(left, left, transposed, 0, -1)};
  }

 private:
  static at::Tensor InverseOf(const at::Tensor& a) {
    if (const DeviceOps* ops = DeviceOpsFor(a)) {
      const at::Tensor inverse = ops->unit_lower_inverse(a);
      if (inverse.defined()) return inverse;
    }
    return Invert(a.contiguous().to(StateType(a.scalar_type()))).to(a.scalar_type());
  }
};

}  // namespace

at::Tensor UnitLowerInverse(const at::Tensor& a) {
  const int64_t size = a.size(1);
  if (size < kBase || (size & (size - 1)) != 0) {
    throw InternalError("unit lower inverse: size {}, expected 16, 32, 64, ...", size);
  }
  return Apply<InverseOperator>({a});
}

}  // namespace natsl::training
