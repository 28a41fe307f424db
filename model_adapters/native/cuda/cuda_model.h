// The native model on a CUDA device as a TokenModel.
#pragma once

#include <memory>
#include <string>

#include "model_adapters/native/native_model.h"

namespace natsl::model_adapters::native::cuda {

/// As native::OpenModel, on options.device ("cuda" or "cuda:N"). Throws Error (model, usage).
std::unique_ptr<NativeModel> OpenModel(const std::string& path, const OpenOptions& options);

}  // namespace natsl::model_adapters::native::cuda
