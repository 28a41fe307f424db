// The interface between natsl-bench and the native modules that it loads at run time.
#pragma once

#include <string>

#include "model_adapters/token_model.h"

namespace natsl::model_adapters {

/// Exported by natsl_native and natsl_native_cuda. The caller owns the model. Throws Error.
using OpenNativeModelFunction = TokenModel* (*)(const std::string&, const OpenOptions&);
constexpr const char* kOpenNativeModelSymbol = "natsl_open_native_model";

}  // namespace natsl::model_adapters
