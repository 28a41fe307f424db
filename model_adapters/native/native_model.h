// The native model: a checkpoint (or random weights) as a TokenModel on the CPU.
#pragma once

#include <memory>
#include <string>

#include "model_adapters/token_model.h"

namespace natsl::model_adapters::native {

class ChunkChoices;

/// What tests and tools of this folder need beyond TokenModel.
class NativeModel : public TokenModel {
 public:
  /// Called for every completed NAtS-L chunk, after the model's own choice (and the forced share);
  /// null: nobody. Must outlive its use.
  virtual void SetChunkChoices(ChunkChoices* choices) = 0;
  /// Bytes of weights that one token's step reads.
  virtual int64_t step_weight_bytes() const = 0;
  /// On a device: the model takes at most `bytes` more of its memory than it holds now.
  virtual void LimitMemory(int64_t /*bytes*/) {}
};

/// `path`: a checkpoint folder, or with random_weights_seed a folder or file with a config alone.
/// Throws Error (model, usage).
std::unique_ptr<NativeModel> OpenModel(const std::string& path, const OpenOptions& options);

}  // namespace natsl::model_adapters::native
