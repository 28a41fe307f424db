// Where the native model's weights come from: a checkpoint's mapped files or a seed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "model_adapters/native/torch_headers.h"
#include "model_adapters/spec/checkpoint.h"

namespace natsl::model_adapters::native {

class WeightSource {
 public:
  virtual ~WeightSource() = default;
  virtual bool Has(const std::string& slot) const = 0;
  /// The slot's tensor in its stored dtype. It may alias memory that lives as long as the source.
  virtual at::Tensor Load(const std::string& slot) const = 0;
};

std::unique_ptr<WeightSource> MakeCheckpointWeights(std::shared_ptr<const Checkpoint> checkpoint);

/// Weights drawn from a seed, slot by slot (the same whatever is asked for, and in which order):
/// uniform of variance 1 / fan-in; norms near one; decay parameters as their families start them.
std::unique_ptr<WeightSource> MakeRandomWeights(const ModelSpec& spec, uint64_t seed);

/// Turns stored weights into what the layers want.
class WeightLoader {
 public:
  /// `dtype`: of the matrices, kFloat32 or kBFloat16. Small tensors are rounded to it and then
  /// kept in float32.
  WeightLoader(const WeightSource& source, core::DType dtype) : source_(source), dtype_(dtype) {}

  bool Has(const std::string& slot) const { return source_.Has(slot); }
  /// A matrix in the loader's dtype; not copied where the file has it so.
  at::Tensor Matrix(const std::string& slot) const;
  /// A small tensor in float32, contiguous; undefined where `slot` is absent and `optional`.
  at::Tensor Small(const std::string& slot, bool optional = false) const;

 private:
  const WeightSource& source_;
  core::DType dtype_;
};

}  // namespace natsl::model_adapters::native
