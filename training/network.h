// A trainable model: a ModelSpec's layers in chunked, differentiable form over LibTorch's autograd.
// Same configs, weight names and mathematics as the native model; nothing of optimisers or data.
//
// Supported: the families transformer, gated_deltanet, delta_net, gla, retnet, hgrn, hgrn2, mamba2,
// rwkv6 and neural_attention_search_linear_attn_gdn with every layer-wise hybrid. Where an option
// has no differentiable form here the constructor throws Error (usage) that names it.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "model_adapters/spec/model_spec.h"

namespace natsl::training {

/// Tokens of a chunk in every chunked form. Sequences of other lengths are padded inside.
inline constexpr int64_t kChunkTokens = 64;

class Network {
 public:
  /// Draws every parameter by its family's rule: float32 master weights on `device`, the same for
  /// the same seed on every device.
  /// `initializer_range`: the config's key of that name, the deviation of most matrices.
  Network(const model_adapters::ModelSpec& spec, uint64_t seed, at::Device device,
          double initializer_range = 0.02);
  ~Network();
  Network(Network&&) noexcept;
  Network& operator=(Network&&) noexcept;

  const model_adapters::ModelSpec& spec() const;

  /// A family's checkpoint name → float32 leaf with requires_grad, contiguous. The same tensors for
  /// the network's life: to load a checkpoint, copy into them under no-grad. A tied head has no
  /// entry of its own. (NAtS-L without an output gate has weights that nothing reads: no gradient.)
  const std::map<std::string, at::Tensor>& Parameters() const;

  struct Output {
    /// Scalar float32: mean cross entropy in nats over the targets that aren't negative (NaN where
    /// all are).
    at::Tensor loss;
    /// NAtS-L: float32 [NAtS-L layers in order, NAtS heads], the share of the batch's complete
    /// chunks that chose softmax attention, without gradient; else undefined.
    at::Tensor softmax_share;
  };

  /// `ids`, `targets`: int64 [B, T] on the network's device; target t is the token that position t
  /// predicts, negative: ignored. `compute_dtype`: kFloat or kBFloat16 of activations and products;
  /// decays, states, norm statistics, scores of chunks and the loss are float32 in both.
  ///
  /// Never waits for the device, never makes shapes from data, and after a first call with the same
  /// shape and dtype makes no tensor on the host: forward and backward can be captured in one CUDA
  /// graph (warm up once, as always). Not thread-safe.
  Output Loss(const at::Tensor& ids, const at::Tensor& targets, at::ScalarType compute_dtype) const;

  /// `ids` int64 [B, T] → [B, T, vocabulary] in `compute_dtype`.
  at::Tensor Logits(const at::Tensor& ids, at::ScalarType compute_dtype) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace natsl::training
