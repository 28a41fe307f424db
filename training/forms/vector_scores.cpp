// Since a score is sum q k exp(bq - b), its gradient in bq is q dq and in b is -k dk.
#include "training/forms/vector_scores.h"

#include "model_adapters/native/torch_headers.h"
#include "training/forms/common.h"
#include "training/operator.h"

namespace natsl::training {
namespace {

constexpr int64_t kPairwise = 4;

// x [N, C, K] → the earlier (0) or later (1) halves of its blocks of 2s: [N, C / 2s, s, K].
at::Tensor Half(const at::Tensor& x, int64_t s, int64_t which) {
  return x.view({x.size(0), x.size(1) / (2 * s), 2, s, x.size(2)}).select(2, which);
}

// x [N, C, C] → the later rows' scores of the earlier columns of each block: [N, C / 2s, s, s].
at::Tensor LowerLeft(const at::Tensor& x, int64_t s) {
  const int64_t size = x.size(1);
  return x.as_strided({x.size(0), size / (2 * s), s, s}, {size * size, 2 * s * (size + 1), size, 1},
                      x.storage_offset() + s * size);
}

// x [N, C, C] → scores [i, i - distance] inside blocks of 4: [N, C / 4, 4 - distance].
at::Tensor Diagonal(const at::Tensor& x, int64_t distance) {
  const int64_t size = x.size(1);
  return x.as_strided({x.size(0), size / kPairwise, kPairwise - distance},
                      {size * size, kPairwise * (size + 1), size + 1},
                      x.storage_offset() + distance * size);
}

// x [N, C, K] → its tokens [first, first + count) of each block of 4.
at::Tensor InBlocks(const at::Tensor& x, int64_t first, int64_t count) {
  return x.view({x.size(0), x.size(1) / kPairwise, kPairwise, x.size(2)}).narrow(2, first, count);
}

// A level's rows: activations times exp(exponents), in the activations' type.
at::Tensor Scaled(const at::Tensor& x, const at::Tensor& factor) {
  at::Tensor scaled = at::empty(x.sizes(), x.options());
  at::mul_out(scaled, x, factor);
  return scaled;
}

struct Level {
  at::Tensor q_factor, k_factor;  // [N, C / 2s, s, K], state's type
  at::Tensor q, k;                // scaled, [N * C / 2s, s, K]
};

Level LevelOf(const at::Tensor& q, const at::Tensor& k, const at::Tensor& bq, const at::Tensor& b,
              int64_t s) {
  Level level;
  const at::Tensor earlier = Half(b, s, 0);
  const at::Tensor pivot = earlier.narrow(2, s - 1, 1);
  level.q_factor = (Half(bq, s, 1) - pivot).exp_();
  level.k_factor = (pivot - earlier).exp_();
  level.q = Scaled(Half(q, s, 1), level.q_factor).view({-1, s, q.size(2)});
  level.k = Scaled(Half(k, s, 0), level.k_factor).view({-1, s, q.size(2)});
  return level;
}

// The pairs `distance` apart inside blocks of 4: [N, C / 4, 4 - distance, K].
struct Pairs {
  at::Tensor q, k, factor;
};

Pairs PairsOf(const at::Tensor& q, const at::Tensor& k, const at::Tensor& bq, const at::Tensor& b,
              int64_t distance) {
  const int64_t count = kPairwise - distance;
  return {InBlocks(q, distance, count), InBlocks(k, 0, count),
          (InBlocks(bq, distance, count) - InBlocks(b, 0, count)).exp_()};
}

// (q, k, bq, b) → scores.
class VectorScoresOperator final : public Operator {
 public:
  Tensors Forward(const Tensors& in, Tensors& saved) override {
    saved = in;
    const at::Tensor &q = in[0], &k = in[1], &bq = in[2], &b = in[3];
    const int64_t size = q.size(1);
    at::Tensor scores = at::zeros({q.size(0), size, size}, q.options());
    for (int64_t s = size / 2; s >= kPairwise; s /= 2) {
      const Level level = LevelOf(q, k, bq, b, s);
      at::Tensor target = LowerLeft(scores, s);
      target.copy_(at::bmm(level.q, level.k.transpose(1, 2)).view_as(target));
    }
    for (int64_t distance = 1; distance < kPairwise; ++distance) {
      const Pairs pairs = PairsOf(q, k, bq, b, distance);
      Diagonal(scores, distance).copy_((pairs.factor * pairs.q).mul_(pairs.k).sum(3));
    }
    return {scores};
  }

  Tensors Backward(const Tensors& gradients, const Tensors& saved) override {
    const at::Tensor &q = saved[0], &k = saved[1], &bq = saved[2], &b = saved[3];
    const at::Tensor gradient = gradients[0].contiguous();
    at::Tensor q_gradient = at::zeros(q.sizes(), b.options());
    at::Tensor k_gradient = at::zeros(k.sizes(), b.options());
    for (int64_t s = q.size(1) / 2; s >= kPairwise; s /= 2) {
      const Level level = LevelOf(q, k, bq, b, s);
      const at::Tensor block = LowerLeft(gradient, s).reshape({-1, s, s});
      at::Tensor later = Half(q_gradient, s, 1), earlier = Half(k_gradient, s, 0);
      later.addcmul_(at::bmm(block, level.k).view_as(level.q_factor), level.q_factor);
      earlier.addcmul_(at::bmm(block.transpose(1, 2), level.q).view_as(level.k_factor),
                       level.k_factor);
    }
    for (int64_t distance = 1; distance < kPairwise; ++distance) {
      const int64_t count = kPairwise - distance;
      const Pairs pairs = PairsOf(q, k, bq, b, distance);
      const at::Tensor weight = pairs.factor.mul_(Diagonal(gradient, distance).unsqueeze(3));
      at::Tensor later = InBlocks(q_gradient, distance, count);
      at::Tensor earlier = InBlocks(k_gradient, 0, count);
      later.addcmul_(weight, pairs.k);
      earlier.addcmul_(weight, pairs.q);
    }
    const at::Tensor bq_gradient = q_gradient * q;
    const at::Tensor b_gradient = (k_gradient * k).neg_();
    return {q_gradient.to(q.scalar_type()), k_gradient.to(k.scalar_type()), bq_gradient,
            b_gradient};
  }
};

}  // namespace

at::Tensor VectorDecayScores(const at::Tensor& q, const at::Tensor& k, const at::Tensor& bq,
                             const at::Tensor& b) {
  return Apply<VectorScoresOperator>(
      {q.contiguous(), k.contiguous(), bq.contiguous(), b.contiguous()});
}

}  // namespace natsl::training
