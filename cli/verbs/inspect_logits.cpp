// `natsl-bench inspect logits`: logits and hidden states of given ids, file to file.
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <cstring>

#include "cli/model_options.h"
#include "cli/verbs/inspect.h"
#include "core/cast.h"
#include "core/error.h"
#include "model_adapters/safetensors/reader.h"
#include "model_adapters/safetensors/writer.h"

namespace natsl::cli {
namespace {

using model_adapters::TokenId;

constexpr std::string_view kInput = "input_ids";

struct LogitsOptions {
  ModelOptions model;
  std::string input, output;
  bool hidden = false;
};

/// Ids of an integer tensor [1, T] or [T].
std::vector<TokenId> ReadIds(const model_adapters::TensorView& tensor, const std::string& where,
                             int64_t vocabulary) {
  const std::vector<int64_t>& shape = tensor.shape;
  if (!(shape.size() == 1 || (shape.size() == 2 && shape[0] == 1)) || tensor.elements() == 0) {
    throw DataError("{}: has shape [{}], expected [1, T] with T at least 1", where,
                    fmt::join(shape, ", "));
  }
  if (tensor.dtype != core::DType::kInt64 && tensor.dtype != core::DType::kInt32) {
    throw DataError("{}: is {}, expected I64 or I32", where, tensor.dtype_name);
  }
  std::vector<TokenId> ids;
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    int64_t id = 0;
    if (tensor.dtype == core::DType::kInt64) {
      std::memcpy(&id, tensor.data + i * 8, 8);
    } else {
      int32_t narrow = 0;
      std::memcpy(&narrow, tensor.data + i * 4, 4);
      id = narrow;
    }
    if (id < 0 || id >= vocabulary) {
      throw DataError("{}: position {} holds id {}, expected 0 to {} (the model's vocabulary)",
                      where, i, id, vocabulary - 1);
    }
    ids.push_back(static_cast<TokenId>(id));
  }
  return ids;
}

/// The file with the ids. It is data, not a checkpoint: that is what its errors say.
model_adapters::SafetensorsFile OpenInput(const std::string& path) {
  try {
    return model_adapters::SafetensorsFile(path);
  } catch (const Error& error) {
    throw Error(ErrorCode::kData, error.what());
  }
}

void Run(const LogitsOptions& options) {
  const model_adapters::SafetensorsFile input = OpenInput(options.input);
  const auto model = OpenTokenModel(options.model);
  const int64_t vocabulary = model->Info().vocabulary;
  model_adapters::SafetensorsWriter output;
  int64_t sequences = 0;
  for (const auto& [name, tensor] : input.tensors()) {
    if (!name.starts_with(kInput)) continue;
    const std::string suffix = name.substr(kInput.size());
    const std::vector<TokenId> ids =
        ReadIds(tensor, fmt::format("{}: {}", options.input, name), vocabulary);
    if (options.model.max_length && core::Size(ids) > *options.model.max_length) {
      throw DataError("{}: {}: holds {} ids, but --max-length is {}", options.input, name,
                      ids.size(), *options.model.max_length);
    }
    const model_adapters::Trace trace = model->Forward(ids, options.hidden, {});
    output.Add("logits" + suffix, {trace.tokens, vocabulary}, std::span(trace.logits));
    if (options.hidden) {
      output.Add("hidden_states" + suffix, {trace.layers + 1, trace.tokens, trace.hidden},
                 std::span(trace.hidden_states));
    }
    ++sequences;
  }
  if (sequences == 0) {
    throw DataError("{}: has no tensor named {}.*, expected at least one", options.input, kInput);
  }
  output.Write(options.output);
}

}  // namespace

void AddInspectLogits(CLI::App& inspect) {
  CLI::App* verb = inspect.add_subcommand(
      "logits",
      "Logits of given ids: every tensor input_ids.* [1, T] of a safetensors file gives "
      "logits.* [T, vocabulary] in another");
  auto options = std::make_shared<LogitsOptions>();
  AddModelOptions(*verb, options->model);
  verb->add_option("--input", options->input, "Safetensors file with input_ids.*")->required();
  verb->add_option("--output", options->output, "Safetensors file to write")->required();
  verb->add_flag("--hidden", options->hidden,
                 "Also hidden_states.* [layers + 1, T, hidden]: embeddings, then each block's "
                 "output; the last one after the final norm");
  verb->callback([options] { Run(*options); });
}

}  // namespace natsl::cli
