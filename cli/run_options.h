// Options of `run`, shared with the verbs that go back to a finished run.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "cli/model_options.h"
#include "cli/task_options.h"
#include "evaluators/journal.h"
#include "reports/run_record.h"

namespace natsl::cli {

struct RunOptions {
  ModelOptions model;
  TaskSelection selection;
  std::string output;
  std::string log_samples = "all";
  std::string cache;
  bool plan = false;
  bool quiet = false;
  bool overwrite = false;
};

void AddRunOptions(CLI::App& app, RunOptions& options);

/// The settings that can change a result, for the record.
std::vector<reports::Setting> ResultSettings(const CLI::App& app,
                                             const std::set<std::string>& from_file);

/// What of them must be the same when a run goes on.
evaluators::Identity SettingsIdentity(const std::vector<reports::Setting>& settings);

}  // namespace natsl::cli
