// What the native models of every device have in common: their description, forced choices.
#pragma once

#include <filesystem>
#include <string>

#include "core/dtype.h"
#include "model_adapters/spec/model_spec.h"
#include "model_adapters/token_model.h"

namespace natsl::model_adapters::native {

/// Throws Error (usage) for a name that no native model computes in.
core::DType DTypeOf(const std::string& name);

/// Everything but the number of parameters and a checkpoint's fingerprint. `config`: the file.
ModelInfo DescribeModel(const ModelSpec& spec, const std::string& path,
                        const std::filesystem::path& config, const OpenOptions& options);

/// OpenOptions::forced_softmax_share: whether a chunk goes to softmax attention. Depends on where
/// the chunk is and on nothing else.
bool ForcedChoice(int64_t layer, int64_t chunk, int64_t head, double share);

}  // namespace natsl::model_adapters::native
