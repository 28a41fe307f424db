// `scripted:FILE`: a model that answers from a JSONL file. For tests, and for checking a protocol
// against answers that another program has given.
//
// A line is a request as `natsl-bench inspect requests` prints it, with its answer:
//   {"type": "loglikelihood", "context": .., "continuation": .., "logprob": -1.5, "is_greedy":
//   true}
//   {"type": "loglikelihood_rolling", "continuation": TEXT, "logprob": -100.5}
//   {"type": "generate_until", "context": .., "output": ..}            [, "finish": "eos"]
// Token counts come from "context_ids", "continuation_ids", "output_ids" and "dropped_ids" where
// they are there; "error" instead of an answer makes the request fail. A line
// {"settings": {"batch_requests": 16, "batch_delay_ms": 0, "max_length": 2048}} changes the
// batches.
#pragma once

#include <filesystem>
#include <memory>

#include "model_adapters/language_model.h"

namespace natsl::model_adapters {

/// Throws Error (model) where the file is missing or wrong. A request that the file doesn't answer
/// is an Error (model) that shows it.
std::unique_ptr<LanguageModel> OpenScriptedModel(const std::filesystem::path& file);

}  // namespace natsl::model_adapters
