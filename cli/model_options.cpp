#include "cli/model_options.h"

#include <CLI/CLI.hpp>
#include <filesystem>

#include "cli/checks/number_checks.h"
#include "core/error.h"
#include "model_adapters/checked_model.h"
#include "model_adapters/remote/model_string.h"
#include "model_adapters/remote/openai_model.h"
#include "model_adapters/remote/process_model.h"
#include "model_adapters/scripted_model.h"

namespace natsl::cli {
namespace {

constexpr std::string_view kScripted = "scripted:";
constexpr std::string_view kChecked = "checked:";

/// "DIR@bfloat16@cuda": the options with what stands behind the path put in.
ModelOptions WithSuffixes(const ModelOptions& options, std::string part) {
  ModelOptions changed = options;
  changed.model = part;
  if (model_adapters::IsRemote(part)) return changed;
  for (size_t at = part.rfind('@'); at != std::string::npos; at = part.rfind('@')) {
    const std::string suffix = part.substr(at + 1);
    if (suffix == "float32" || suffix == "bfloat16") {
      changed.dtype = suffix;
    } else if (suffix == "cpu" || suffix.starts_with("cuda")) {
      changed.device = suffix;
    } else {
      break;  // part of the path
    }
    part.resize(at);
  }
  changed.model = part;
  return changed;
}

std::pair<ModelOptions, ModelOptions> CheckedParts(const ModelOptions& options) {
  const std::vector<std::string> models =
      model_adapters::SplitModels(std::string_view(options.model).substr(kChecked.size()));
  if (models.size() != 2) {
    // The string isn't shown: something in it that isn't allowed may be a key.
    throw UsageError("--model checked:...: names {} models, expected checked:A,B with two",
                     models.size());
  }
  return {WithSuffixes(options, models[0]), WithSuffixes(options, models[1])};
}

}  // namespace

int64_t BatchTokens(const ModelOptions& options) {
  if (options.batch_tokens > 0) return options.batch_tokens;
  return options.device.starts_with("cuda") ? 65536 : 8192;
}

void AddModelOptions(CLI::App& app, ModelOptions& options) {
  app.add_option("--model", options.model,
                 "Checkpoint folder; openai:URL[,model=NAME,...] a server; process:CMD a program; "
                 "scripted:FILE answers from a file; checked:A,B compares two")
      ->required();
  app.add_option("--device", options.device, "cpu, cuda, cuda:N")->capture_default_str();
  app.add_option("--dtype", options.dtype, "Type of the weights")
      ->check(CLI::IsMember({"float32", "bfloat16"}))
      ->capture_default_str();
  app.add_option("--threads", options.threads, "CPU threads (0: all cores)")
      ->check(WholeNumber(0, 4096))
      ->capture_default_str();
  app.add_option("--batch-tokens", options.batch_tokens,
                 "Most tokens of one packed batch (0: 8192, on a GPU 65536)")
      ->check(WholeNumber(0, int64_t{1} << 30))
      ->capture_default_str();
  app.add_option("--max-length", options.max_length,
                 "Tokens the model may read (default: the checkpoint's own)")
      ->check(WholeNumber(1, int64_t{1} << 30));
  app.add_option("--random-weights", options.random_weights,
                 "Draw the weights with this seed: for a folder without a weights file")
      ->check(SeedNumber());
  app.add_flag("--no-prefix-sharing", options.no_prefix_sharing,
               "Compute every request from its start");
  app.add_flag("--deterministic", options.deterministic,
               "A request's answer is the same, to the bit, whatever other requests there are: "
               "nothing is packed; slower (--plan tells by how much)");
}

void AddTextOptions(CLI::App& app, ModelOptions& options) {
  app.add_option("--tokenizer", options.tokenizer,
                 "Tokenizer folder or file (default: the model's folder)");
  app.add_option("--bos", options.bos, "Start token: auto is the tokenizer's own rule")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->capture_default_str();
  app.add_option("--truncation", options.truncation, "What happens to what is too long")
      ->check(CLI::IsMember({"left", "error", "skip"}))
      ->capture_default_str();
}

bool IsNative(const std::string& model) {
  return !model.starts_with(kScripted) && !model.starts_with(kChecked) &&
         !model_adapters::IsRemote(model);
}

void RequireModelExists(const ModelOptions& options) {
  if (options.model.starts_with(kChecked)) {
    const auto [first, second] = CheckedParts(options);
    RequireModelExists(first);
    RequireModelExists(second);
    return;
  }
  // The strings are checked now, before data is read; whether somebody answers is seen later.
  if (options.model.starts_with(model_adapters::kOpenAiPrefix)) {
    model_adapters::ReadKey(model_adapters::ParseServed(options.model));
    return;
  }
  if (options.model.starts_with(model_adapters::kProcessPrefix)) {
    model_adapters::ParseProcess(options.model);
    return;
  }
  const std::string path =
      IsNative(options.model) ? options.model : options.model.substr(kScripted.size());
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    throw ModelError(
        "{}: no such file or folder; --model takes a checkpoint folder with "
        "config.json, model.safetensors and a tokenizer",
        path);
  }
}

model_adapters::BosPolicy ToBosPolicy(const std::string& name) {
  return name == "always"  ? model_adapters::BosPolicy::kAlways
         : name == "never" ? model_adapters::BosPolicy::kNever
                           : model_adapters::BosPolicy::kAuto;
}

std::shared_ptr<const model_adapters::Tokenizer> OpenModelTokenizer(const ModelOptions& options) {
  if (options.tokenizer.empty() && options.model.starts_with(model_adapters::kOpenAiPrefix)) {
    const std::string tokenizer = model_adapters::ParseServed(options.model).tokenizer;
    if (tokenizer.empty()) {
      throw UsageError("this needs a tokenizer; give --tokenizer, or tokenizer=FOLDER in --model");
    }
    return model_adapters::OpenTokenizer(tokenizer);
  }
  std::error_code error;
  if (options.tokenizer.empty() && std::filesystem::is_regular_file(options.model, error)) {
    throw ModelError(
        "{}: is a file, expected a checkpoint folder with config.json, model.safetensors and a "
        "tokenizer; give the folder, or a tokenizer with --tokenizer",
        options.model);
  }
  return model_adapters::OpenTokenizer(options.tokenizer.empty() ? options.model
                                                                 : options.tokenizer);
}

std::unique_ptr<model_adapters::TokenModel> OpenTokenModel(const ModelOptions& options) {
  if (!IsNative(options.model)) {
    RequireModelExists(options);  // first: what is wrong with the string may be a key in it
    throw UsageError("--model {}: this needs a checkpoint folder", options.model);
  }
  return model_adapters::OpenNativeModel(options.model, ToOpenOptions(options));
}

model_adapters::OpenOptions ToOpenOptions(const ModelOptions& options) {
  model_adapters::OpenOptions open;
  open.device = options.device;
  open.dtype = options.dtype;
  open.threads = options.threads;
  open.batch_tokens = BatchTokens(options);
  open.max_length = options.max_length;
  open.random_weights_seed = options.random_weights;
  open.share_prefixes = !options.no_prefix_sharing;
  open.deterministic = options.deterministic;
  return open;
}

std::unique_ptr<model_adapters::LanguageModel> OpenLanguageModel(const ModelOptions& options) {
  if (options.model.starts_with(kScripted)) {
    return model_adapters::OpenScriptedModel(options.model.substr(kScripted.size()));
  }
  if (options.model.starts_with(kChecked)) {
    const auto [first, second] = CheckedParts(options);
    std::unique_ptr<model_adapters::LanguageModel> answers = OpenLanguageModel(first);
    return std::make_unique<model_adapters::CheckedModel>(std::move(answers),
                                                          OpenLanguageModel(second));
  }
  if (options.model.starts_with(model_adapters::kProcessPrefix)) {
    return model_adapters::OpenProcessModel(options.model);
  }
  if (options.model.starts_with(model_adapters::kOpenAiPrefix)) {
    return model_adapters::OpenServedModel(
        options.model, {options.tokenizer, options.max_length, ToTextOptions(options)});
  }
  // The tokenizer first: it is the cheaper one to be wrong.
  std::shared_ptr<const model_adapters::Tokenizer> tokenizer = OpenModelTokenizer(options);
  return WithTokenizer(OpenTokenModel(options), std::move(tokenizer), options);
}

model_adapters::TextOptions ToTextOptions(const ModelOptions& options) {
  model_adapters::TextOptions text;
  text.bos = ToBosPolicy(options.bos);
  text.truncation = options.truncation == "error"  ? model_adapters::TruncationPolicy::kError
                    : options.truncation == "skip" ? model_adapters::TruncationPolicy::kSkip
                                                   : model_adapters::TruncationPolicy::kLeft;
  text.threads = options.threads;
  return text;
}

std::unique_ptr<model_adapters::LanguageModel> WithTokenizer(
    std::unique_ptr<model_adapters::TokenModel> model,
    std::shared_ptr<const model_adapters::Tokenizer> tokenizer, const ModelOptions& options) {
  return model_adapters::MakeTokenizedModel(std::move(model), std::move(tokenizer),
                                            ToTextOptions(options));
}

}  // namespace natsl::cli
