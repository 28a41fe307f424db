// Token by token, as the specs write them.
#include "tests/training/forms/recurrences.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "model_adapters/native/torch_headers.h"
#include "training/network.h"

namespace natsl::training {
namespace {

// Teams of threads cost more than such small work.
class OneThread : public testing::Environment {
 public:
  void SetUp() override { at::set_num_threads(1); }
};
const auto* const one_thread = testing::AddGlobalTestEnvironment(new OneThread);

}  // namespace

at::Tensor Random(std::vector<int64_t> shape, uint64_t seed) {
  at::Generator generator = at::globalContext().defaultGenerator(at::kCPU).clone();
  generator.set_current_seed(seed);
  return at::randn(shape, generator, at::TensorOptions(at::kDouble));
}

double Difference(const at::Tensor& a, const at::Tensor& b) {
  return (a.to(at::kDouble) - b.to(at::kDouble)).abs().max().item<double>();
}

at::Tensor DeltaRecurrence(const DeltaRuleInputs& in) {
  const int64_t tokens = in.q.size(2);
  at::Tensor state =
      at::zeros({in.q.size(0), in.q.size(1), in.k.size(3), in.v.size(3)}, in.q.options());
  at::Tensor start = state, decay_of_chunk;
  std::vector<at::Tensor> outputs;
  for (int64_t t = 0; t < tokens; ++t) {
    const auto at_token = [&](const at::Tensor& x) { return x.select(2, t); };
    const at::Tensor one = at::ones({in.q.size(0), in.q.size(1)}, in.q.options());
    const at::Tensor decay = in.g.defined() ? at_token(in.g).exp() : one;
    if (t % kChunkTokens == 0) {
      start = state;
      decay_of_chunk = one;
    }
    decay_of_chunk = decay_of_chunk * decay;
    const at::Tensor k = at_token(in.k).unsqueeze(3), q = at_token(in.q).unsqueeze(3);
    state = decay.unsqueeze(2).unsqueeze(3) * state;
    const at::Tensor old = (state * k).sum(2);
    const at::Tensor u = at_token(in.beta).unsqueeze(2) * (at_token(in.v) - old);
    state = state + k * u.unsqueeze(2);
    outputs.push_back((state * q).sum(2));
    if (!in.keep.defined() || (t + 1) % kChunkTokens != 0) continue;
    const at::Tensor keep = in.keep.select(2, t / kChunkTokens).unsqueeze(2).unsqueeze(3);
    const at::Tensor decayed = decay_of_chunk.unsqueeze(2).unsqueeze(3) * start;
    const at::Tensor base =
        in.decay_over_dropped ? decayed : at::where(keep.detach() > 0, decayed, start);
    state = base + keep * (state - decayed);
  }
  return at::stack(outputs, 2);
}

at::Tensor LinearRecurrence(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const at::Tensor& g, const at::Tensor& bonus) {
  at::Tensor state = at::zeros({q.size(0), q.size(1), k.size(3), v.size(3)}, q.options());
  std::vector<at::Tensor> outputs;
  for (int64_t t = 0; t < q.size(2); ++t) {
    const at::Tensor rows = k.select(2, t).unsqueeze(3), query = q.select(2, t).unsqueeze(3);
    const at::Tensor columns = v.select(2, t).unsqueeze(2);
    at::Tensor decay = g.select(2, t).exp();
    if (decay.dim() == 2) decay = decay.unsqueeze(2);
    const at::Tensor before = state;
    state = decay.unsqueeze(3) * state + rows * columns;
    const at::Tensor read = bonus.defined() ? before + bonus.unsqueeze(2) * rows * columns : state;
    outputs.push_back((read * query).sum(2));
  }
  return at::stack(outputs, 2);
}

at::Tensor ScanRecurrence(const at::Tensor& x, const at::Tensor& g) {
  at::Tensor state = at::zeros({x.size(0), x.size(2)}, x.options());
  std::vector<at::Tensor> outputs;
  for (int64_t t = 0; t < x.size(1); ++t) {
    state = g.select(1, t).exp() * state + x.select(1, t);
    outputs.push_back(state);
  }
  return at::stack(outputs, 1);
}

at::Tensor GatedAttention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                          const at::Tensor& chosen, const at::Tensor& gate, double scale) {
  std::vector<at::Tensor> outputs;
  for (int64_t t = 0; t < q.size(2); ++t) {
    const int64_t past = t / kChunkTokens;
    at::Tensor factor = at::ones({v.size(0), v.size(1), t + 1 - past * kChunkTokens}, v.options());
    if (past > 0) {
      const at::Tensor kept = (gate * chosen).narrow(2, 0, past);
      factor = at::cat({kept.repeat_interleave(kChunkTokens, 2), factor}, 2);
    }
    const at::Tensor keys = k.narrow(2, 0, t + 1), values = v.narrow(2, 0, t + 1);
    const at::Tensor weight = ((q.narrow(2, t, 1) * keys).sum(3) * scale).exp() * factor;
    outputs.push_back((weight.unsqueeze(3) * values).sum(2) / weight.sum(2, true));
  }
  return at::stack(outputs, 2);
}

void ExpectEqualForms(const Form& form, const Form& definition,
                      const std::vector<at::Tensor>& inputs, double tolerance) {
  const auto run = [&](const Form& function) {
    std::vector<at::Tensor> leaves;
    for (const at::Tensor& input : inputs) {
      leaves.push_back(input.clone().set_requires_grad(true));
    }
    const at::Tensor output = function(leaves);
    (output * Random(output.sizes().vec(), 99)).sum().backward();
    std::vector<at::Tensor> results = {output.detach()};
    for (const at::Tensor& leaf : leaves) {
      results.push_back(leaf.grad().defined() ? leaf.grad() : at::zeros_like(leaf));
    }
    return results;
  };
  const std::vector<at::Tensor> found = run(form), expected = run(definition);
  for (size_t i = 0; i < found.size(); ++i) {
    SCOPED_TRACE(i == 0 ? "values" : "gradient of input " + std::to_string(i - 1));
    ASSERT_EQ(found[i].sizes(), expected[i].sizes());
    const double largest = std::max(1.0, expected[i].abs().max().item<double>());
    EXPECT_LE(Difference(found[i], expected[i]), tolerance * largest);
  }
}

}  // namespace natsl::training
