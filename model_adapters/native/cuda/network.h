// The layers of a model on the device and one packed pass (or decode step) over them; nothing of
// planning, sampling or slots.
#pragma once

#include <memory>
#include <vector>

#include "model_adapters/native/cuda/mixers/mixer.h"
#include "model_adapters/native/cuda/mlp.h"

namespace natsl::model_adapters::native::cuda {

/// The residual stream x + add; `add` may be undefined. Kept apart, so that the next norm adds
/// them.
struct Residual {
  at::Tensor x, add;
};

class Network {
 public:
  Network(const ModelSpec& spec, const WeightSource& source, core::DType dtype, StatePool& pool);

  const ModelSpec& spec() const { return spec_; }
  core::DType dtype() const { return dtype_; }
  int64_t parameters() const { return parameters_; }
  int64_t step_weight_bytes() const { return step_weight_bytes_; }
  int64_t weight_bytes() const { return parameters_ * core::ByteSize(dtype_); }
  /// Most bytes of activations and workspace that a token of a pass needs at once.
  int64_t activation_bytes() const { return activation_bytes_; }
  /// NAtS heads of the layer with most; 0: no such layer.
  int64_t most_nats_heads() const { return most_nats_heads_; }

  /// `hidden_states`: receives the embeddings and each block's output, copies.
  Residual Forward(const Pass& pass, std::vector<at::Tensor>* hidden_states = nullptr) const;

  /// The final norm of all rows, or of `rows` (device int64).
  at::Tensor FinalNorm(const Residual& residual) const;
  at::Tensor FinalNorm(const Residual& residual, const at::Tensor& rows) const;
  /// Normed rows → float32 [rows, vocabulary], before the soft cap.
  at::Tensor RawLogits(const at::Tensor& normed) const { return head_.Wide(normed); }
  /// All rows of a decode step → the same.
  at::Tensor StepLogits(Residual residual) const;
  /// ... with the soft cap.
  at::Tensor Logits(const at::Tensor& normed) const;

 private:
  struct Layer {
    Norm pre_norm, mixer_norm, mixer_post_norm, mlp_norm, mlp_post_norm;
    std::unique_ptr<Mixer> mixer;
    std::unique_ptr<Mlp> mlp;
    bool parallel_residual = false;
  };

  void RunLayer(const Layer& layer, Residual& residual, const Pass& pass) const;

  ModelSpec spec_;
  core::DType dtype_;
  at::Tensor embeddings_;
  Projection head_;
  Norm final_norm_;
  std::vector<Layer> layers_;
  int64_t parameters_ = 0, step_weight_bytes_ = 0, activation_bytes_ = 0, most_nats_heads_ = 0;
};

/// Bytes a token of activations, from the spec alone.
int64_t ActivationBytes(const ModelSpec& spec, core::DType dtype);

}  // namespace natsl::model_adapters::native::cuda
