// Building the layers from a spec, the pass, the head.
#include "model_adapters/native/cuda/network.h"

#include <algorithm>

#include "kernels/cuda/sampling.h"
#include "model_adapters/native/mixers/lower_bound.h"

namespace natsl::model_adapters::native::cuda {
namespace {

at::Tensor LowerBoundOf(const at::Tensor& bounds, int64_t layer, const MixerSpec& spec) {
  if (!bounds.defined() || layer == 0) return {};
  const auto* linear = std::get_if<LinearAttentionSpec>(&spec);
  const auto* hgrn = std::get_if<HgrnSpec>(&spec);
  const bool wanted =
      (linear != nullptr && linear->lower_bound) || (hgrn != nullptr && hgrn->lower_bound);
  return wanted ? bounds[layer].contiguous().to(at::kCUDA) : at::Tensor();
}

// Columns of activations that a mixer holds at once: projections, their convolved copies, outputs;
// float32 gates count by their bytes.
struct MixerColumns {
  int64_t element;

  int64_t operator()(const AttentionSpec& s) const {
    return (s.heads + 2 * s.kv_heads) * s.head_dim + 2 * s.heads * s.head_dim;
  }
  int64_t operator()(const DeltaNetSpec& s) const {
    const int64_t keys = s.heads * s.key_dim, values = s.value_heads * s.value_dim;
    // The chunked form's workspace is about as large as its inputs, and its states as one of them.
    return 2 * (2 * keys + values) + 3 * values + 2 * (2 * keys + 2 * values) +
           16 * s.value_heads / element;
  }
  int64_t operator()(const NatsSpec& s) const {
    return (*this)(s.delta) + 2 * s.delta.heads * s.delta.key_dim +
           2 * s.delta.value_heads * s.delta.value_dim + 8 * s.attention_heads / element;
  }
  int64_t operator()(const LinearAttentionSpec& s) const {
    const int64_t keys = s.heads * s.key_dim, values = s.heads * s.value_dim;
    return 2 * (2 * keys + values) + 4 * values + 3 * keys + 8 * keys / element;
  }
  int64_t operator()(const HgrnSpec& s) const { return 8 * s.width + 8 * s.width / element; }
  int64_t operator()(const Mamba2Spec& s) const {
    const int64_t inner = s.heads * s.head_dim, bc = s.groups * s.state;
    return 2 * (2 * inner + 2 * bc) + 5 * inner + 8 * s.heads / element;
  }
  int64_t operator()(const Rwkv6Spec& s) const {
    const int64_t keys = s.heads * s.key_dim, values = s.heads * s.value_dim;
    return 8 * keys + 8 * values + 12 * keys / element;
  }
};

}  // namespace

int64_t ActivationBytes(const ModelSpec& spec, core::DType dtype) {
  const int64_t element = core::ByteSize(dtype);
  int64_t most = 0;
  for (const LayerSpec& layer : spec.layers) {
    const int64_t mlp = layer.mlp.kind == MlpSpec::Kind::kGated ? 3 : 2;
    most = std::max({most, std::visit(MixerColumns{element}, layer.mixer), mlp * layer.mlp.width});
  }
  // The residual stream, its addend, two norms' outputs, ids and positions.
  return element * (4 * spec.hidden + most) + 32;
}

Network::Network(const ModelSpec& spec, const WeightSource& source, core::DType dtype,
                 StatePool& pool)
    : spec_(spec), dtype_(dtype), activation_bytes_(ActivationBytes(spec, dtype)) {
  const DeviceLoader loader(source, dtype);
  embeddings_ = loader.Matrix("embeddings.weight");
  head_ = loader.Has("head.weight") ? Projection(loader.Matrix("head.weight"))
                                    : Projection(embeddings_);
  final_norm_ = Norm(loader, "final_norm", spec.final_norm, spec.hidden);
  const at::Tensor stored_bounds = loader.HostSmall("lower_bounds", true);
  const at::Tensor bounds = stored_bounds.defined() ? LowerBounds(stored_bounds) : at::Tensor();
  for (size_t i = 0; i < spec.layers.size(); ++i) {
    const LayerSpec& layer_spec = spec.layers[i];
    const auto index = static_cast<int64_t>(i);
    const std::string prefix = fmt::format("layers.{}.", i);
    Layer layer;
    const auto norm = [&](const char* name, const NormSpec& norm_spec) {
      return Norm(loader, prefix + name, norm_spec, spec.hidden);
    };
    if (layer_spec.pre_norm) layer.pre_norm = norm("pre_norm", *layer_spec.pre_norm);
    layer.mixer_norm = norm("mixer_norm", layer_spec.mixer_norm);
    if (layer_spec.mixer_post_norm) {
      layer.mixer_post_norm = norm("mixer_post_norm", *layer_spec.mixer_post_norm);
    }
    layer.mixer = MakeMixer(layer_spec.mixer,
                            MixerContext{loader, pool, prefix + "mixer.", index, spec.hidden,
                                         LowerBoundOf(bounds, index, layer_spec.mixer)});
    layer.mlp = MakeMlp(layer_spec.mlp, loader, prefix + "mlp.", spec.hidden, pool);
    if (layer.mlp) layer.mlp_norm = norm("mlp_norm", layer_spec.mlp_norm);
    if (layer_spec.mlp_post_norm) {
      layer.mlp_post_norm = norm("mlp_post_norm", *layer_spec.mlp_post_norm);
    }
    layer.parallel_residual = layer_spec.parallel_residual;
    layers_.push_back(std::move(layer));
    if (const auto* nats = std::get_if<NatsSpec>(&layer_spec.mixer)) {
      most_nats_heads_ = std::max(most_nats_heads_, nats->nats_heads);
    }
  }
  for (const SlotSpec& slot : ExpectedSlots(spec)) {
    int64_t count = 1;
    for (const int64_t size : slot.shape) count *= size;
    parameters_ += count;
    const bool table =
        slot.slot == "embeddings.weight" && head_.weight().data_ptr() != embeddings_.data_ptr();
    if (!table) step_weight_bytes_ += count * core::ByteSize(dtype);
  }
}

void Network::RunLayer(const Layer& layer, Residual& residual, const Pass& pass) const {
  at::Tensor& x = residual.x;
  if (layer.pre_norm.defined()) {
    if (residual.add.defined()) x.add_(residual.add);
    residual.add = at::Tensor();
    layer.pre_norm.Into(x, x);
  }
  Hidden h(layer.mixer_norm, x, std::move(residual.add));
  residual.add = at::Tensor();
  const at::Tensor a = layer.mixer->Forward(h, pass);
  if (layer.mixer_post_norm.defined()) layer.mixer_post_norm.Into(a, a);
  if (!layer.mlp) {
    residual.add = a;
    return;
  }
  if (layer.parallel_residual) {
    Hidden normed(layer.mlp_norm, x, {});
    residual.add = layer.mlp->Forward(normed, pass);
    x.add_(a);
  } else {
    Hidden normed(layer.mlp_norm, x, a);
    residual.add = layer.mlp->Forward(normed, pass);
  }
  if (layer.mlp_post_norm.defined()) layer.mlp_post_norm.Into(residual.add, residual.add);
}

Residual Network::Forward(const Pass& pass, std::vector<at::Tensor>* hidden_states) const {
  Residual residual;
  residual.x = EmptyOn({pass.tokens, spec_.hidden}, ScalarTypeOf(dtype_));
  kernels::cuda::EmbedArgs embed;
  embed.dtype = dtype_;
  embed.table = embeddings_.data_ptr();
  embed.ids = pass.ids;
  embed.y = residual.x.data_ptr();
  embed.rows = pass.tokens;
  embed.hidden = spec_.hidden;
  embed.scale = spec_.embedding_scale;
  kernels::cuda::RunEmbed(embed, pass.stream);
  if (hidden_states != nullptr) hidden_states->push_back(residual.x.clone());
  for (const Layer& layer : layers_) {
    RunLayer(layer, residual, pass);
    if (hidden_states == nullptr) continue;
    hidden_states->push_back(residual.x + residual.add);
  }
  return residual;
}

at::Tensor Network::FinalNorm(const Residual& residual) const {
  if (!residual.add.defined()) return final_norm_(residual.x);
  at::Tensor x = residual.x.clone();
  return final_norm_.AfterAdd(x, residual.add);
}

at::Tensor Network::FinalNorm(const Residual& residual, const at::Tensor& rows) const {
  const auto gather = [&](const at::Tensor& from) {
    if (!from.defined()) return at::Tensor();
    at::Tensor to = EmptyOn({rows.numel(), from.size(1)}, from.scalar_type());
    kernels::cuda::GatherRowsArgs args;
    args.dtype = dtype_;
    args.x = from.data_ptr();
    args.x_stride = from.stride(0);
    args.rows = rows.data_ptr<int64_t>();
    args.y = to.data_ptr();
    args.count = rows.numel();
    args.width = from.size(1);
    kernels::cuda::RunGatherRows(args, CurrentStream());
    return to;
  };
  at::Tensor x = gather(residual.x);
  const at::Tensor add = gather(residual.add);
  return add.defined() ? final_norm_.AfterAdd(x, add) : final_norm_(x);
}

at::Tensor Network::StepLogits(Residual residual) const {
  Hidden normed(final_norm_, residual.x, std::move(residual.add));
  return head_.Wide(normed);
}

at::Tensor Network::Logits(const at::Tensor& normed) const {
  at::Tensor logits = RawLogits(normed);
  if (spec_.logit_soft_cap > 0) {
    logits.div_(spec_.logit_soft_cap).tanh_().mul_(spec_.logit_soft_cap);
  }
  return logits;
}

}  // namespace natsl::model_adapters::native::cuda
