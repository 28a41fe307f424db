#include "cli/verbs/rescore.h"

#include <CLI/CLI.hpp>
#include <iostream>

#include "cli/app.h"
#include "cli/checks/number_checks.h"
#include "cli/finish_run.h"
#include "cli/first_ids.h"
#include "cli/model_record.h"
#include "cli/run_options.h"
#include "cli/token_counter.h"
#include "core/json.h"
#include "evaluators/journal.h"
#include "evaluators/output_folder.h"
#include "reports/console_table.h"

namespace natsl::cli {
namespace {

struct RescoreOptions {
  std::string run, data, output;
  int threads = 0;
};

/// The options that the run was started with.
RunOptions StoredOptions(evaluators::Journal& journal, const std::string& folder) {
  const std::string text = journal.Note("arguments");
  if (text.empty()) throw UsageError("{}: its journal holds no finished start of a run", folder);
  std::vector<std::string> arguments =
      core::ParseJson(text, evaluators::Journal::kFileName, ErrorCode::kData)
          .get<std::vector<std::string>>();
  RunOptions options;
  CLI::App app;
  AddRunOptions(app, options);
  if (!arguments.empty() && arguments.front() == "run") arguments.erase(arguments.begin());
  std::reverse(arguments.begin(), arguments.end());
  try {
    app.parse(arguments);
  } catch (const CLI::ParseError& error) {
    throw UsageError("{}: was started with options that this version doesn't take: {}", folder,
                     error.what());
  }
  return options;
}

void Run(const RescoreOptions& options) {
  if (!std::filesystem::exists(std::filesystem::path(options.run) /
                               evaluators::Journal::kFileName)) {
    throw UsageError("{}: not the output folder of a run ({} isn't there)", options.run,
                     evaluators::Journal::kFileName);
  }
  evaluators::OutputFolder folder(options.run, /*overwrite=*/false);
  evaluators::Journal journal(folder.path());
  RunOptions run = StoredOptions(journal, options.run);
  if (!options.data.empty()) run.selection.data = options.data;
  std::shared_ptr<const model_adapters::Tokenizer> tokenizer;
  const auto open = [&] { tokenizer = OpenModelTokenizer(run.model); };
  const auto count = [&](const std::string& text) {
    return static_cast<int64_t>(tokenizer->Encode(text, false).size());
  };
  std::vector<evaluators::SelectedTask> tasks =
      LoadTasks(run.selection, OpenThenCount(open, count));
  const evaluators::RequestPlan plan = evaluators::BuildRequestPlan(tasks, options.threads);
  for (const auto& [name, value] : journal.ReadIdentity("data")) {
    if (name == "requests" && value != plan.fingerprint) {
      throw DataError(
          "{}: the requests of its tasks differ from those that were answered (other "
          "data, or a task that has changed): run it again",
          options.run);
    }
  }
  const evaluators::Answers answers = evaluators::ReadAnswers(plan, journal);
  if (!answers.complete) {
    throw UsageError("{}: not all requests are answered yet: start the run again to go on",
                     options.run);
  }
  FirstIdsFromJson(journal.Note("first_ids"), tasks);
  reports::RunRecord record;
  record.program_version = ProgramVersion();
  record.versions = ProgramVersions();
  record.model = ModelFromJson(journal.Note("model"));
  record.settings = SettingsFromJson(journal.Note("settings"));
  const std::filesystem::path output = options.output.empty() ? options.run : options.output;
  std::filesystem::create_directories(output);
  FinishRun(tasks, plan, answers, run.selection.tasks, ToLogSamples(run.log_samples),
            options.threads, output, record);
  std::cout << reports::ConsoleTable(record);
}

}  // namespace

void AddRescore(CLI::App& app) {
  CLI::App* verb = app.add_subcommand(
      "rescore", "Metrics of a run again from its stored answers, without the model");
  auto options = std::make_shared<RescoreOptions>();
  verb->add_option("run", options->run, "Output folder of a run")->required();
  verb->add_option("--data", options->data, "Data folder (default: the run's)");
  verb->add_option("--output", options->output, "Folder to write to (default: the run's own)");
  verb->add_option("--threads", options->threads, "CPU threads (0: all cores)")
      ->check(WholeNumber(0, 4096))
      ->capture_default_str();
  verb->callback([options] { Run(*options); });
}

}  // namespace natsl::cli
