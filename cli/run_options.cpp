#include "cli/run_options.h"

#include <CLI/CLI.hpp>
#include <filesystem>

#include "cli/app.h"
#include "cli/settings.h"
#include "core/json.h"
#include "core/utf8.h"
#include "evaluators/response_codec.h"

namespace natsl::cli {

void AddRunOptions(CLI::App& app, RunOptions& options) {
  AddModelOptions(app, options.model);
  AddTextOptions(app, options.model);
  AddTaskSelection(app, options.selection);
  app.add_option("--output", options.output,
                 "Folder for results.json, report.md and samples; a run that was stopped goes on "
                 "when it is started again with the same folder");
  app.add_option("--log-samples", options.log_samples,
                 "Which documents get a row in samples_*.jsonl")
      ->check(CLI::IsMember({"all", "wrong", "none"}))
      ->capture_default_str();
  app.add_option("--cache", options.cache,
                 "File that keeps answers across runs, of the same weights and settings");
  app.add_flag("--plan", options.plan, "Only say what would be done");
  app.add_flag("--overwrite", options.overwrite, "Remove an earlier run from the output folder");
  app.add_flag("--quiet", options.quiet, "No progress on stderr");
}

std::vector<reports::Setting> ResultSettings(const CLI::App& app,
                                             const std::set<std::string>& from_file) {
  return CollectSettings(app, from_file, {"output", "cache", "plan", "quiet", "overwrite"});
}

namespace {

/// The same file or folder is the same setting, however its path is written; nothing else is.
std::string Resolved(const reports::Setting& setting) {
  static const std::set<std::string> paths = {"model", "tokenizer", "ids", "fewshot-from"};
  if (!paths.contains(setting.name)) return setting.value_json;
  const core::Json value =
      core::ParseJson(setting.value_json, "--" + setting.name, ErrorCode::kInternal);
  if (!value.is_string()) return setting.value_json;
  std::string prefix, path = value.get<std::string>();
  if (const size_t colon = path.find(':'); setting.name == "model" && !IsNative(path)) {
    prefix = path.substr(0, colon + 1);
    path = path.substr(colon + 1);
  }
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return setting.value_json;
  // The folder that a relative path starts from may have any name.
  const std::u32string canonical =
      core::DecodeUtf8(std::filesystem::canonical(path, error).string());
  return core::Json(prefix + core::EncodeUtf8(canonical)).dump();
}

}  // namespace

evaluators::Identity SettingsIdentity(const std::vector<reports::Setting>& settings) {
  evaluators::Identity identity;
  identity.emplace_back("program", ProgramVersion());
  identity.emplace_back("answers schema", std::to_string(evaluators::kResponseSchema));
  for (const reports::Setting& setting : settings) {
    if (setting.name == "log-samples" || setting.name == "data") continue;
    identity.emplace_back("--" + setting.name, Resolved(setting));
  }
  return identity;
}

}  // namespace natsl::cli
