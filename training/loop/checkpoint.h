// What a training run leaves in its folder: the Hugging Face checkpoint that natsl-bench opens, and
// the state from which the run goes on.
#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace natsl::training {

/// model.safetensors (atomically), config.json as `config` with its torch_dtype set, and the
/// tokenizer's files copied from `tokenizer` (a folder). `dtype`: kFloat or kBFloat16.
void SaveModel(const std::filesystem::path& folder,
               const std::map<std::string, at::Tensor>& parameters, at::ScalarType dtype,
               const std::string& config, const std::filesystem::path& tokenizer);

struct TrainingState {
  int64_t step = 0;  ///< steps done; data goes on from here
  std::map<std::string, at::Tensor> tensors;
  std::string identity;  ///< IdentityJson of the run, its config and tokenizer hashed
};

/// training_state.safetensors, one file that is replaced at once.
void SaveState(const std::filesystem::path& folder, const TrainingState& state);
/// Nothing where the folder has none. Throws Error (data) where it is malformed.
std::optional<TrainingState> LoadState(const std::filesystem::path& folder);

}  // namespace natsl::training
