// The elementwise recurrence by doubling, in chunks and over their ends.
#include "model_adapters/native/torch_headers.h"
#include "training/forms/common.h"
#include "training/forms/linear_attention.h"
#include "training/operator.h"

namespace natsl::training {
namespace {

// s_t = a_t s_{t-1} + x_t along dimension 1 of x, a [G, n, C]; returns s and the products of a.
// Doubling: after a step of d every token holds the 2d last ones.
std::pair<at::Tensor, at::Tensor> Doubling(const at::Tensor& x, const at::Tensor& a) {
  const int64_t count = x.size(1);
  at::Tensor sums = x.clone(), products = a.clone();
  for (int64_t d = 1; d < count; d *= 2) {
    const int64_t rest = count - d;
    const at::Tensor late_sums =
        at::addcmul(sums.narrow(1, d, rest), products.narrow(1, d, rest), sums.narrow(1, 0, rest));
    const at::Tensor late_products =
        at::mul(products.narrow(1, d, rest), products.narrow(1, 0, rest));
    sums.narrow(1, d, rest).copy_(late_sums);
    products.narrow(1, d, rest).copy_(late_products);
  }
  return {sums, products};
}

// The scan over x, a [B, whole chunks, C]: inside chunks, over the chunks' ends, and together.
at::Tensor Scan(const at::Tensor& x, const at::Tensor& a) {
  const int64_t batch = x.size(0), channels = x.size(2);
  auto [sums, products] =
      Doubling(x.reshape({-1, kChunkTokens, channels}), a.reshape({-1, kChunkTokens, channels}));
  const auto ends = [&](const at::Tensor& t) {
    return t.select(1, kChunkTokens - 1).view({batch, -1, channels});
  };
  const at::Tensor states = Doubling(ends(sums), ends(products)).first;
  const int64_t chunks = states.size(1);
  const at::Tensor starts = at::constant_pad_nd(states.narrow(1, 0, chunks - 1), {0, 0, 1, 0});
  sums.addcmul_(products, starts.reshape({-1, 1, channels}));
  return sums.view({batch, -1, channels});
}

// (x, g) → states.
class ScanOperator final : public Operator {
 public:
  Tensors Forward(const Tensors& in, Tensors& saved) override {
    const at::Tensor gate = in[1].exp();
    const at::Tensor states = Scan(in[0], gate);
    saved = {gate, states};
    return {states};
  }

  // The gradient of s_t from all that follows obeys the same recurrence, backwards:
  // r_t = ds_t + a_{t+1} r_{t+1}; then dx = r and dg_t = r_t a_t s_{t-1}.
  Tensors Backward(const Tensors& gradients, const Tensors& saved) override {
    const at::Tensor &gate = saved[0], &states = saved[1];
    const int64_t rest = gate.size(1) - 1;
    const at::Tensor following = at::constant_pad_nd(gate.narrow(1, 1, rest), {0, 0, 0, 1});
    const at::Tensor carried = Scan(gradients[0].flip({1}), following.flip({1})).flip({1});
    const at::Tensor previous = at::constant_pad_nd(states.narrow(1, 0, rest), {0, 0, 1, 0});
    return {carried, at::mul(carried, gate).mul_(previous)};
  }
};

}  // namespace

at::Tensor GatedScan(const at::Tensor& x, const at::Tensor& g) {
  const int64_t tokens = x.size(1);
  const int64_t missing = (kChunkTokens - tokens % kChunkTokens) % kChunkTokens;
  const auto padded = [&](const at::Tensor& t) {
    return missing == 0 ? t : at::constant_pad_nd(t, {0, 0, 0, missing});
  };
  return Apply<ScanOperator>({padded(x), padded(g)}).narrow(1, 0, tokens);
}

}  // namespace natsl::training
