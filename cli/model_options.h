// Options that choose a model, and the model they choose.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "model_adapters/language_model.h"
#include "model_adapters/token_model.h"
#include "model_adapters/tokenized_model.h"
#include "model_adapters/tokenizer.h"

namespace CLI {
class App;
}

namespace natsl::cli {

struct ModelOptions {
  std::string model;
  std::string tokenizer;  ///< "": the model's own
  std::string device = "cpu";
  std::string dtype = "float32";
  std::string bos = "auto";
  std::string truncation = "left";
  int threads = 0;
  int64_t batch_tokens = 0;  ///< 0: the device's own (BatchTokens)
  std::optional<int64_t> max_length;
  std::optional<uint64_t> random_weights;
  bool no_prefix_sharing = false;
  bool deterministic = false;
};

/// Most tokens of one packed batch: as given, else 8,192, on a GPU 65,536.
int64_t BatchTokens(const ModelOptions& options);

/// What the model reads: device, dtype, threads, ...
void AddModelOptions(CLI::App& app, ModelOptions& options);
/// How text becomes ids: tokenizer, BOS, truncation.
void AddTextOptions(CLI::App& app, ModelOptions& options);

/// Whether `model` is a checkpoint folder (not openai:, process:, scripted: or checked:).
bool IsNative(const std::string& model);
/// Throws Error (model) where the path doesn't exist: cheap, before anything is loaded.
void RequireModelExists(const ModelOptions& options);

model_adapters::BosPolicy ToBosPolicy(const std::string& name);
/// The tokenizer of a checkpoint, or the one that --tokenizer names.
std::shared_ptr<const model_adapters::Tokenizer> OpenModelTokenizer(const ModelOptions& options);
model_adapters::TextOptions ToTextOptions(const ModelOptions& options);
model_adapters::OpenOptions ToOpenOptions(const ModelOptions& options);
std::unique_ptr<model_adapters::TokenModel> OpenTokenModel(const ModelOptions& options);
/// A token model with its tokenizer and the text options.
std::unique_ptr<model_adapters::LanguageModel> WithTokenizer(
    std::unique_ptr<model_adapters::TokenModel> model,
    std::shared_ptr<const model_adapters::Tokenizer> tokenizer, const ModelOptions& options);
/// A checkpoint folder, `openai:URL,...`, `process:CMD`, `scripted:FILE`, or `checked:A,B` where A
/// and B may carry "@float32",
/// "@bfloat16", "@cpu", "@cuda" behind the path.
std::unique_ptr<model_adapters::LanguageModel> OpenLanguageModel(const ModelOptions& options);

}  // namespace natsl::cli
