// `process:CMD ARGS`: a model that another program runs; it is spoken to by lines of JSON on its
// stdin and stdout (docs/process_protocol.md).
#pragma once

#include <memory>
#include <string>

#include "model_adapters/language_model.h"

namespace natsl::model_adapters {

/// Starts the process and waits for its hello. Throws Error (usage: the model string; model: the
/// process). A process that dies or falls silent is started again; the requests that were open are
/// then asked one at a time, and one on which it dies twice by itself is a failed request. Too many
/// deaths in a row, and a process that breaks the protocol, are an Error (model) of the run.
std::unique_ptr<LanguageModel> OpenProcessModel(const std::string& model);

}  // namespace natsl::model_adapters
