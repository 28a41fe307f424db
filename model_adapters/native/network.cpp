// Building the layers from a spec, the forward pass, the head.
#include "model_adapters/native/network.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "kernels/log_sum_exp.h"
#include "model_adapters/native/mixers/lower_bound.h"

namespace natsl::model_adapters::native {
namespace {

// Logits that exist at once when the head is queried (32 MiB), and at least so many rows of them.
constexpr int64_t kHeadLogits = int64_t{1} << 23, kHeadRows = 256;

at::Tensor LowerBoundOf(const at::Tensor& bounds, int64_t layer, const MixerSpec& spec) {
  if (!bounds.defined() || layer == 0) return {};
  const auto* linear = std::get_if<LinearAttentionSpec>(&spec);
  const auto* hgrn = std::get_if<HgrnSpec>(&spec);
  const bool wanted =
      (linear != nullptr && linear->lower_bound) || (hgrn != nullptr && hgrn->lower_bound);
  return wanted ? bounds[layer].contiguous() : at::Tensor();
}

}  // namespace

Network::Network(const ModelSpec& spec, const WeightSource& source, core::DType dtype)
    : spec_(spec) {
  const WeightLoader loader(source, dtype);
  embeddings_ = loader.Matrix("embeddings.weight");
  head_ = loader.Has("head.weight") ? Linear(loader, "head") : Linear(embeddings_);
  final_norm_ = Norm(loader, "final_norm", spec.final_norm, spec.hidden);
  embedding_scale_ = static_cast<float>(spec.embedding_scale);
  if (dtype == core::DType::kBFloat16) {
    embedding_scale_ = at::scalar_tensor(embedding_scale_).to(at::kBFloat16).item<float>();
  }
  const at::Tensor stored_bounds = loader.Small("lower_bounds", true);
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
    layer.mixer =
        MakeMixer(layer_spec.mixer, MixerContext{loader, prefix + "mixer.", index, spec.hidden,
                                                 LowerBoundOf(bounds, index, layer_spec.mixer)});
    layer.mlp = MakeMlp(layer_spec.mlp, loader, prefix + "mlp.");
    if (layer.mlp) layer.mlp_norm = norm("mlp_norm", layer_spec.mlp_norm);
    if (layer_spec.mlp_post_norm)
      layer.mlp_post_norm = norm("mlp_post_norm", *layer_spec.mlp_post_norm);
    layer.parallel_residual = layer_spec.parallel_residual;
    layers_.push_back(std::move(layer));
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

SequenceState Network::NewState() const {
  SequenceState state;
  state.layers.resize(layers_.size());
  return state;
}

void Network::CheckId(TokenId id) const {
  if (id >= 0 && id < spec_.vocabulary) return;
  throw ModelError(
      "token id {} is outside the model's vocabulary of {}: the tokenizer and the model don't "
      "belong together",
      id, spec_.vocabulary);
}

at::Tensor Network::Embed(std::span<const TokenId> ids) const {
  at::Tensor index = at::empty({static_cast<int64_t>(ids.size())}, at::kLong);
  int64_t* data = index.data_ptr<int64_t>();
  for (size_t i = 0; i < ids.size(); ++i) {
    CheckId(ids[i]);
    data[i] = ids[i];
  }
  at::Tensor x = embeddings_.index_select(0, index).to(at::kFloat);
  if (embedding_scale_ != 1) x.mul_(embedding_scale_);
  return x;
}

void Network::RunLayer(const Layer& layer, int64_t index, at::Tensor& x, Batch& batch) const {
  if (layer.pre_norm.defined()) layer.pre_norm.InPlace(x);
  at::Tensor a = layer.mixer->Forward(layer.mixer_norm(x), batch, index);
  if (layer.mixer_post_norm.defined()) layer.mixer_post_norm.InPlace(a);
  if (!layer.mlp) {
    x.add_(a);
    return;
  }
  at::Tensor h;
  if (layer.parallel_residual) {
    h = layer.mlp_norm(x);
    x.add_(a);
  } else {
    h = layer.mlp_norm.AfterAdd(x, a);
  }
  at::Tensor m = layer.mlp->Forward(h, batch, index);
  if (layer.mlp_post_norm.defined()) layer.mlp_post_norm.InPlace(m);
  x.add_(m);
}

at::Tensor Network::Forward(Batch& batch, std::vector<at::Tensor>* hidden_states) const {
  at::Tensor x = Embed(batch.ids);
  if (hidden_states != nullptr) hidden_states->push_back(x.clone());
  for (size_t i = 0; i < layers_.size(); ++i) {
    if (batch.arena != nullptr) batch.arena->Reset();
    RunLayer(layers_[i], static_cast<int64_t>(i), x, batch);
    for (size_t s = 0; s < batch.states.size(); ++s) {
      if (!batch.retain[s]) batch.states[s]->layers[i].Release();
    }
    if (hidden_states != nullptr) hidden_states->push_back(x.clone());
  }
  for (size_t s = 0; s < batch.states.size(); ++s) batch.states[s]->length += batch.tokens_of(s);
  return x;
}

at::Tensor Network::Logits(const at::Tensor& x) const {
  at::Tensor logits = head_(final_norm_(x));
  if (spec_.logit_soft_cap > 0) {
    logits.div_(spec_.logit_soft_cap).tanh_().mul_(spec_.logit_soft_cap);
  }
  return logits;
}

std::vector<HeadAnswer> Network::Query(const at::Tensor& x,
                                       std::span<const HeadQuery> queries) const {
  std::vector<HeadAnswer> answers(queries.size());
  const auto count = static_cast<int64_t>(queries.size());
  const int64_t vocabulary = spec_.vocabulary;
  for (const HeadQuery& query : queries) {
    for (const TokenId target : query.targets) CheckId(target);
  }
  const int64_t rows_at_once = std::max(kHeadRows, kHeadLogits / vocabulary);
  for (int64_t begin = 0; begin < count; begin += rows_at_once) {
    const int64_t rows = std::min(rows_at_once, count - begin);
    at::Tensor index = at::empty({rows}, at::kLong);
    for (int64_t r = 0; r < rows; ++r) {
      index.data_ptr<int64_t>()[r] = queries[static_cast<size_t>(begin + r)].row;
    }
    const at::Tensor logits = Logits(x.index_select(0, index));
    const float* data = logits.data_ptr<float>();
    std::vector<int64_t> argmax(static_cast<size_t>(rows));
    std::vector<double> log_sum(static_cast<size_t>(rows));
    kernels::LogSumExpArgs args;
    args.x = data;
    args.x_stride = vocabulary;
    args.rows = rows;
    args.width = vocabulary;
    args.argmax = argmax.data();
    args.log_sum = log_sum.data();
    kernels::RunLogSumExpCpu(args);
    for (int64_t r = 0; r < rows; ++r) {
      const HeadQuery& query = queries[static_cast<size_t>(begin + r)];
      HeadAnswer& answer = answers[static_cast<size_t>(begin + r)];
      const auto at = static_cast<size_t>(r);
      answer.argmax = static_cast<TokenId>(argmax[at]);
      for (const TokenId target : query.targets) {
        answer.log_probs.push_back(
            static_cast<float>(static_cast<double>(data[r * vocabulary + target]) - log_sum[at]));
      }
    }
  }
  return answers;
}

}  // namespace natsl::model_adapters::native
