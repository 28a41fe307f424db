// The layers of a model and one packed forward pass over them; nothing of planning or sampling.
#pragma once

#include <memory>
#include <vector>

#include "model_adapters/native/mixers/mixer.h"
#include "model_adapters/native/mlp.h"
#include "model_adapters/native/runner.h"
#include "model_adapters/native/state.h"
#include "model_adapters/spec/model_spec.h"

namespace natsl::model_adapters::native {

class Network {
 public:
  /// `source` must outlive the network: weights may alias it.
  Network(const ModelSpec& spec, const WeightSource& source, core::DType dtype);

  const ModelSpec& spec() const { return spec_; }
  SequenceState NewState() const;
  int64_t parameters() const { return parameters_; }
  /// Bytes of weights that every token's step reads (embedding table excluded unless tied).
  int64_t step_weight_bytes() const { return step_weight_bytes_; }

  /// Runs `batch` and moves its states on. Returns the residual stream after the last layer,
  /// [tokens, hidden]. `hidden_states`: receives the embeddings and each block's output.
  at::Tensor Forward(Batch& batch, std::vector<at::Tensor>* hidden_states = nullptr) const;

  at::Tensor FinalNorm(const at::Tensor& x) const { return final_norm_(x); }
  /// Rows of the residual stream (before the final norm) → logits [rows, vocabulary].
  at::Tensor Logits(const at::Tensor& x) const;
  /// Answers queries about rows of the residual stream, in blocks, so that [rows, vocabulary]
  /// never exists at once. Throws Error (model) for a target outside the vocabulary.
  std::vector<HeadAnswer> Query(const at::Tensor& x, std::span<const HeadQuery> queries) const;

 private:
  struct Layer {
    Norm pre_norm, mixer_norm, mixer_post_norm, mlp_norm, mlp_post_norm;
    std::unique_ptr<Mixer> mixer;
    std::unique_ptr<Mlp> mlp;
    bool parallel_residual = false;
  };

  void CheckId(TokenId id) const;
  at::Tensor Embed(std::span<const TokenId> ids) const;
  void RunLayer(const Layer& layer, int64_t index, at::Tensor& x, Batch& batch) const;

  ModelSpec spec_;
  at::Tensor embeddings_;
  Linear head_;
  Norm final_norm_;
  std::vector<Layer> layers_;
  float embedding_scale_ = 1;
  int64_t parameters_ = 0, step_weight_bytes_ = 0;
};

}  // namespace natsl::model_adapters::native
