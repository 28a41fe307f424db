// The layers in order, rounding of the weights, the head and the loss.
#include "training/network.h"

#include <ATen/core/grad_mode.h>

#include "core/error.h"
#include "model_adapters/native/torch_headers.h"
#include "model_adapters/spec/checkpoint.h"
#include "training/layers/mixers.h"
#include "training/layers/ops.h"
#include "training/network_parameters.h"
#include "training/operator.h"

namespace natsl::training {
namespace {

using model_adapters::ModelSpec;
using model_adapters::NatsSpec;

constexpr std::string_view kFamilies[] = {"transformer", "gated_deltanet",
                                          "delta_net",   "gla",
                                          "retnet",      "hgrn",
                                          "hgrn2",       "mamba2",
                                          "rwkv6",       "neural_attention_search_linear_attn_gdn"};

void CheckSupported(const ModelSpec& spec) {
  if (std::ranges::find(kFamilies, spec.family) == std::end(kFamilies)) {
    throw UsageError("training: models of type \"{}\" have no differentiable form; these have: {}",
                     spec.family, fmt::join(kFamilies, ", "));
  }
  for (const model_adapters::LayerSpec& layer : spec.layers) {
    const auto* nats = std::get_if<NatsSpec>(&layer.mixer);
    if (nats != nullptr && nats->own_chunk != NatsSpec::OwnChunk::kAll) {
      throw UsageError(
          "training: \"ops_for_incomplete_chunks\" other than \"all\" has no differentiable form; "
          "set it to \"all\" in the config");
    }
  }
}

// All parameters in one type, as views of one buffer: a few kernels however many there are.
class RoundOperator final : public Operator {
 public:
  explicit RoundOperator(at::ScalarType dtype) : dtype_(dtype) {}

  Tensors Forward(const Tensors& masters, Tensors&) override { return Copies(masters, dtype_); }
  Tensors Backward(const Tensors& gradients, const Tensors&) override {
    return Copies(gradients, at::kFloat);
  }

 private:
  static Tensors Copies(const Tensors& sources, at::ScalarType dtype) {
    // Every copy starts where tensor cores like it.
    constexpr int64_t kAlignment = 64;
    const auto padded = [](int64_t n) { return (n + kAlignment - 1) / kAlignment * kAlignment; };
    int64_t total = 0;
    for (const at::Tensor& source : sources) total += padded(source.numel());
    const at::AutoDispatchBelowADInplaceOrView plain;  // views of one buffer, unknown to autograd
    const at::Tensor buffer = at::empty({total}, sources[0].options().dtype(dtype));
    Tensors copies;
    int64_t offset = 0;
    for (const at::Tensor& source : sources) {
      copies.push_back(buffer.narrow(0, offset, source.numel()).view(source.sizes()));
      offset += padded(source.numel());
    }
    at::_foreach_copy_(copies, sources);
    return copies;
  }

  at::ScalarType dtype_;
};

}  // namespace

struct Network::Impl {
  Impl(const ModelSpec& model, uint64_t seed, at::Device device, double initializer_range)
      : spec(model), constants(device) {
    CheckSupported(spec);
    const at::NoGradGuard no_grad;
    for (auto& [slot, start] : DrawParameters(spec, seed, initializer_range)) {
      at::Tensor parameter = start.to(device);
      parameter.set_requires_grad(true);
      masters.emplace(slot, parameter);
      parameters.emplace(model_adapters::TensorName(spec, slot), parameter);
    }
  }

  TensorMap Rounded(at::ScalarType dtype) const {
    if (dtype == at::kFloat) return masters;
    Tensors sources;
    for (const auto& [slot, master] : masters) sources.push_back(master);
    const Tensors copies = Apply(c10::make_intrusive<RoundOperator>(dtype), sources);
    TensorMap rounded;
    size_t next = 0;
    for (const auto& [slot, master] : masters) rounded.emplace(slot, copies[next++]);
    return rounded;
  }

  at::Tensor RunMixer(size_t index, const at::Tensor& h, const LayerWeights& weights,
                      const Pass& pass, const at::Tensor& bounds) const {
    return std::visit(
        [&](const auto& mixer) {
          if constexpr (requires { mixer.lower_bound; }) {
            const bool bounded = mixer.lower_bound && bounds.defined() && index > 0;
            return Mix(mixer, h, weights, pass,
                       bounded ? bounds.select(0, static_cast<int64_t>(index)) : at::Tensor());
          } else {
            return Mix(mixer, h, weights, pass);
          }
        },
        spec.layers[index].mixer);
  }

  at::Tensor RunLayer(size_t index, at::Tensor x, const Pass& pass,
                      const at::Tensor& bounds) const {
    const model_adapters::LayerSpec& layer = spec.layers[index];
    const LayerWeights weights(pass, fmt::format("layers.{}.", index));
    const auto norm = [&](const at::Tensor& t, const model_adapters::NormSpec& norm_spec,
                          const std::string& name) {
      return ApplyNorm(t, norm_spec, weights.Optional(name + ".weight"),
                       weights.Optional(name + ".bias"));
    };
    if (layer.pre_norm) x = norm(x, *layer.pre_norm, "pre_norm");
    x = x + RunMixer(index, norm(x, layer.mixer_norm, "mixer_norm"), weights.Below("mixer."), pass,
                     bounds);
    if (layer.mlp.kind == model_adapters::MlpSpec::Kind::kNone) return x;
    return x + RunMlp(layer.mlp, norm(x, layer.mlp_norm, "mlp_norm"), weights.Below("mlp."));
  }

  at::Tensor Logits(const at::Tensor& ids, at::ScalarType dtype,
                    std::vector<at::Tensor>* softmax_shares) const {
    if (ids.dim() != 2 || ids.scalar_type() != at::kLong) {
      throw InternalError("training: ids of {} dimensions, expected int64 [B, T]", ids.dim());
    }
    const TensorMap rounded = Rounded(dtype);
    const Pass pass{ids.size(0), ids.size(1), dtype,         &rounded,
                    &masters,    &constants,  softmax_shares};
    at::Tensor bounds;
    if (spec.lower_bounds) {
      const at::Tensor share = masters.at("lower_bounds").softmax(0);
      bounds = share.cumsum(0) - share.narrow(0, 0, 1);
    }
    at::Tensor x = at::embedding(rounded.at("embeddings.weight"), ids);
    for (size_t i = 0; i < spec.layers.size(); ++i) x = RunLayer(i, x, pass, bounds);
    const LayerWeights top(pass, "");
    x = ApplyNorm(x, spec.final_norm, top.Optional("final_norm.weight"),
                  top.Optional("final_norm.bias"));
    return Linear(x, rounded.at(spec.tied_head ? "embeddings.weight" : "head.weight"));
  }

  ModelSpec spec;
  TensorMap masters;     ///< by slot
  TensorMap parameters;  ///< the same tensors by checkpoint name
  mutable Constants constants;
};

Network::Network(const ModelSpec& spec, uint64_t seed, at::Device device, double initializer_range)
    : impl_(std::make_unique<Impl>(spec, seed, device, initializer_range)) {}
Network::~Network() = default;
Network::Network(Network&&) noexcept = default;
Network& Network::operator=(Network&&) noexcept = default;

const ModelSpec& Network::spec() const { return impl_->spec; }
const std::map<std::string, at::Tensor>& Network::Parameters() const { return impl_->parameters; }

Network::Output Network::Loss(const at::Tensor& ids, const at::Tensor& targets,
                              at::ScalarType compute_dtype) const {
  std::vector<at::Tensor> shares;
  Output output;
  const at::Tensor logits = impl_->Logits(ids, compute_dtype, &shares).flatten(0, 1);
  // Any negative target is ignored.
  const at::Tensor wanted = targets.flatten().clamp_min(-1);
  output.loss =
      at::nll_loss_nd(at::log_softmax(logits, 1, at::kFloat), wanted, {}, at::Reduction::Mean, -1);
  if (!shares.empty()) output.softmax_share = at::stack(shares).detach();
  return output;
}

at::Tensor Network::Logits(const at::Tensor& ids, at::ScalarType compute_dtype) const {
  return impl_->Logits(ids, compute_dtype, nullptr);
}

}  // namespace natsl::training
