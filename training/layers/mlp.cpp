// Gated and plain MLPs, RWKV6's channel mix.

#include "core/error.h"
#include "model_adapters/native/torch_headers.h"
#include "training/layers/mixers.h"
#include "training/layers/ops.h"

namespace natsl::training {

using model_adapters::Activation;
using model_adapters::MlpSpec;

namespace {

at::Tensor Gated(const MlpSpec& spec, const at::Tensor& h, const LayerWeights& weights) {
  const at::Tensor down = weights["down_proj.weight"];
  if (spec.activation == Activation::kSilu && !spec.bias) {
    const at::Tensor both = at::cat({weights["gate_proj.weight"], weights["up_proj.weight"]});
    return Linear(SwiGlu(Linear(h, both)), down);
  }
  const at::Tensor gate =
      Linear(h, weights["gate_proj.weight"], weights.Optional("gate_proj.bias"));
  const at::Tensor up = Linear(h, weights["up_proj.weight"], weights.Optional("up_proj.bias"));
  return Linear(Activate(gate, spec.activation) * up, down, weights.Optional("down_proj.bias"));
}

at::Tensor ChannelMix(const MlpSpec& spec, const at::Tensor& h, const LayerWeights& weights) {
  const at::Tensor delta = ShiftDifference(h);
  const at::Tensor key =
      Linear(at::addcmul(h, delta, weights["key.mu"]), weights["key.linear.weight"]);
  const at::Tensor receptance =
      Linear(at::addcmul(h, delta, weights["receptance.mu"]), weights["receptance.linear.weight"]);
  return at::sigmoid(receptance) * Linear(Activate(key, spec.activation), weights["value.weight"]);
}

}  // namespace

at::Tensor RunMlp(const MlpSpec& spec, const at::Tensor& h, const LayerWeights& weights) {
  switch (spec.kind) {
    case MlpSpec::Kind::kGated:
      return Gated(spec, h, weights);
    case MlpSpec::Kind::kPlain: {
      const at::Tensor up = Linear(h, weights["up_proj.weight"], weights.Optional("up_proj.bias"));
      return Linear(Activate(up, spec.activation), weights["down_proj.weight"],
                    weights.Optional("down_proj.bias"));
    }
    case MlpSpec::Kind::kRwkv6ChannelMix:
      return ChannelMix(spec, h, weights);
    case MlpSpec::Kind::kNone:
      break;
  }
  throw InternalError("mlp: none to run");
}

}  // namespace natsl::training
