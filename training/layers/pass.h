// What a layer sees of one forward pass: weights by slot in the pass's type, shapes, constants.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>
#include <vector>

#include "model_adapters/spec/model_spec.h"

namespace natsl::training {

/// Tensors by slot (model_adapters/spec/model_spec.h).
using TensorMap = std::map<std::string, at::Tensor>;

/// Tables that depend on no weight, on the network's device; made on first use.
class Constants {
 public:
  explicit Constants(at::Device device) : device_(device) {}

  struct RopeTables {
    at::Tensor cosines, sines;  ///< [tokens, dims / 2]
  };
  RopeTables Rope(const model_adapters::RopeSpec& spec, int64_t tokens, at::ScalarType dtype);
  /// RetNet's log decay of each head, float32 [heads].
  at::Tensor RetentionDecay(int64_t heads);

 private:
  at::Device device_;
  std::map<std::string, RopeTables> rope_;
  std::map<int64_t, at::Tensor> retention_;
};

struct Pass {
  int64_t batch = 0, tokens = 0;
  at::ScalarType dtype = at::kFloat;
  const TensorMap* rounded = nullptr;  ///< every parameter in `dtype`
  const TensorMap* masters = nullptr;  ///< every parameter in float32
  Constants* constants = nullptr;
  std::vector<at::Tensor>* softmax_shares = nullptr;  ///< NAtS-L layers append theirs [heads]
};

/// A layer's part of the weights.
class LayerWeights {
 public:
  LayerWeights(const Pass& pass, std::string prefix) : pass_(pass), prefix_(std::move(prefix)) {}

  /// PREFIX + name, rounded to the pass's type.
  const at::Tensor& operator[](const std::string& name) const {
    return pass_.rounded->at(prefix_ + name);
  }
  /// The same, or undefined where the spec has no such slot.
  at::Tensor Optional(const std::string& name) const {
    const auto found = pass_.rounded->find(prefix_ + name);
    return found == pass_.rounded->end() ? at::Tensor() : found->second;
  }
  /// In float32: decays, scores of chunks.
  const at::Tensor& Master(const std::string& name) const {
    return pass_.masters->at(prefix_ + name);
  }
  LayerWeights Below(const std::string& part) const { return {pass_, prefix_ + part}; }

 private:
  const Pass& pass_;
  std::string prefix_;
};

}  // namespace natsl::training
