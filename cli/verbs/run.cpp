#include "cli/verbs/run.h"

#include <sched.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>
#include <thread>

#include "cli/app.h"
#include "cli/finish_run.h"
#include "cli/first_ids.h"
#include "cli/model_record.h"
#include "cli/run_options.h"
#include "cli/terminal.h"
#include "cli/token_counter.h"
#include "cli/verbs/run_plan.h"
#include "core/cast.h"
#include "core/clock.h"
#include "core/files.h"
#include "core/json.h"
#include "evaluators/execute.h"
#include "evaluators/output_folder.h"
#include "evaluators/running_score.h"
#include "model_adapters/checked_model.h"
#include "model_adapters/communicator.h"
#include "model_adapters/distributed_model.h"
#include "reports/console_table.h"
#include "reports/results_json.h"
#include "tasks/registry.h"

namespace natsl::cli {
namespace {

using evaluators::Answers;
using evaluators::Identity;
using evaluators::Origin;
using evaluators::Progress;
using evaluators::ProgressStyle;
using evaluators::RequestPlan;
using evaluators::SelectedTask;

/// Times the phases of a run.
class Phases {
 public:
  explicit Phases(const core::Clock& clock) : clock_(clock), last_ns_(clock.NowNs()) {}
  void End(const char* name) {
    const int64_t now = clock_.NowNs();
    phases_.push_back({name, now - last_ns_});
    last_ns_ = now;
  }
  const std::vector<reports::ExecutionRecord::Phase>& all() const { return phases_; }

 private:
  const core::Clock& clock_;
  int64_t last_ns_;
  std::vector<reports::ExecutionRecord::Phase> phases_;
};

/// Refuses an output folder that holds another run; `part` of the identity is compared.
void RequireSame(evaluators::Journal& journal, const std::string& part, const Identity& now,
                 const std::string& folder) {
  const Identity stored = journal.ReadIdentity(part);
  if (stored.empty()) {
    journal.WriteIdentity(part, now);
    return;
  }
  const std::string differences = evaluators::Differences(stored, now);
  if (differences.empty()) return;
  throw UsageError(
      "{}: holds a run that differs from this one ({}); choose another folder with "
      "--output, or give --overwrite",
      folder, differences);
}

Identity ModelIdentity(const model_adapters::ModelInfo& info) {
  Identity identity = {{"weights", info.weights_fingerprint},
                       {"tokenizer", info.tokenizer_fingerprint},
                       {"dtype", info.dtype},
                       {"device", info.device},
                       {"longest input", std::to_string(info.max_length)}};
  for (const auto& [name, value] : info.settings) identity.emplace_back("model " + name, value);
  return identity;
}

Identity DataIdentity(const std::vector<SelectedTask>& tasks, const RequestPlan& plan) {
  Identity identity;
  for (const SelectedTask& task : tasks) {
    identity.emplace_back("data of " + task.name, task.task->DataFingerprint());
  }
  identity.emplace_back("requests", plan.fingerprint);
  return identity;
}

std::vector<reports::ExecutionRecord::TaskShare> Shares(const std::vector<SelectedTask>& tasks,
                                                        const RequestPlan& plan,
                                                        const Answers& answers) {
  std::vector<reports::ExecutionRecord::TaskShare> shares;
  for (const SelectedTask& task : tasks) shares.push_back({.task = task.name});
  for (size_t kind = 0; kind < answers.origin.size(); ++kind) {
    for (size_t i = 0; i < answers.origin[kind].size(); ++i) {
      reports::ExecutionRecord::TaskShare& share = shares[static_cast<size_t>(plan.owner[kind][i])];
      ++share.requests;
      share.cached += answers.origin[kind][i] == Origin::kCache;
      share.resumed += answers.origin[kind][i] == Origin::kJournal;
    }
  }
  return shares;
}

/// Each rank has its own device and its share of the host's cores.
ModelOptions ForRank(const ModelOptions& options, const model_adapters::Communicator& world) {
  ModelOptions mine = options;
  if (mine.device == "cuda" && world.local_rank() > 0) {
    mine.device = fmt::format("cuda:{}", world.local_rank());
  }
  if (mine.threads == 0) {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    ::sched_getaffinity(0, sizeof(allowed), &allowed);
    const int cores = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
    mine.threads = std::max(1, std::min(CPU_COUNT(&allowed), cores / world.local_size()));
  }
  return mine;
}

/// One run of the verb, step by step.
class RunVerb {
 public:
  RunVerb(const RunOptions& options, const CLI::App& app, const Context& context)
      : options_(options),
        context_(context),
        settings_(ResultSettings(app, context.from_file)),
        phases_(clock_),
        progress_(options.quiet        ? ProgressStyle::kQuiet
                  : StderrIsTerminal() ? ProgressStyle::kLive
                                       : ProgressStyle::kPlain,
                  clock_, [](const std::string& text) { std::cerr << text << std::flush; }) {}

  int Run() {
    world_ = model_adapters::JoinProcesses();
    if (world_ && options_.plan && world_->rank() > 0) return 0;
    if (!world_ || options_.plan) return RunAlone();
    if (!IsNative(options_.model.model)) {
      throw UsageError("--model {}: only a checkpoint folder can be spread over processes",
                       options_.model.model);
    }
    if (world_->rank() > 0) return Serve();
    crew_ = std::make_unique<model_adapters::Crew>(*world_, [this](const std::string& what) {
      std::cerr << "natsl-bench: error: " << what << "; what was answered is in " << options_.output
                << ": run the same command again to go on\n"
                << std::flush;
    });
    progress_.Note(fmt::format("{} processes", world_->size()));
    return RunAlone();
  }

 private:
  /// A rank other than 0: no tasks, no journal; it computes what rank 0 sends.
  int Serve() {
    CatchStopSignals();
    const ModelOptions mine = ForRank(options_.model, *world_);
    model_adapters::ServeShares(*world_, [&] {
      auto tokenizer = OpenModelTokenizer(mine);
      return model_adapters::ServedModel{OpenTokenModel(mine), std::move(tokenizer)};
    });
    return 0;
  }

  int RunAlone() {
    tasks::ResolveTasks(options_.selection.tasks);
    RequireModelExists(options_.model);
    if (options_.plan) {
      LoadData();
      PrintPlan(tasks_, plan_, options_.model, std::cout);
      return 0;
    }
    if (options_.output.empty()) throw UsageError("--output is required: a folder for the results");
    evaluators::OutputFolder folder(options_.output, options_.overwrite);
    try {
      return RunInto(folder);
    } catch (...) {
      // A run that failed before its first answer has nothing to go on from.
      folder.RemoveEmptyJournal();
      throw;
    }
  }

  int RunInto(const evaluators::OutputFolder& folder) {
    std::unique_ptr<evaluators::Journal> journal;
    const Identity settings_identity = SettingsIdentity(settings_);
    if (folder.has_journal()) {
      journal = std::make_unique<evaluators::Journal>(folder.path());
      RequireSame(*journal, "settings", settings_identity, options_.output);
    }
    LoadData();
    OpenModel();
    CatchStopSignals();  // from here on there is something to go on from
    if (!journal) journal = std::make_unique<evaluators::Journal>(folder.path());
    RequireSame(*journal, "settings", settings_identity, options_.output);
    RequireSame(*journal, "data", DataIdentity(tasks_, plan_), options_.output);
    RequireSame(*journal, "model", ModelIdentity(model_->Info()), options_.output);
    journal->SetNote("arguments", core::Json(context_.arguments).dump());
    journal->SetNote("model", ToJson(ToRecord(model_->Info())));
    journal->SetNote("settings", ToJson(settings_));
    FindFirstIds(plan_, options_.model, model_->Info().max_length, tasks_);
    journal->SetNote("first_ids", FirstIdsToJson(tasks_));
    const Answers answers = Answer(*journal);
    if (!answers.complete) return Stopped();
    return Finish(answers, folder.path());
  }

  void LoadData() {
    const auto count = [this](const std::string& text) {
      const std::optional<int64_t> tokens = model_->CountTokens(text);
      if (!tokens) {
        throw UsageError("--model {}: it can't count tokens, and a task is built to a length",
                         options_.model.model);
      }
      return *tokens;
    };
    tasks_ = LoadTasks(options_.selection, OpenThenCount([this] { OpenModel(); }, count));
    plan_ = evaluators::BuildRequestPlan(tasks_, options_.model.threads);
    phases_.End("data");
    progress_.Note(fmt::format("{} requests of {} tasks", plan_.size(), tasks_.size()));
  }

  void OpenModel() {
    if (model_) return;
    if (crew_) {
      const ModelOptions mine = ForRank(options_.model, *world_);
      auto tokenizer = OpenModelTokenizer(mine);
      model_ = WithTokenizer(model_adapters::MakeDistributedModel(OpenTokenModel(mine), *crew_),
                             std::move(tokenizer), mine);
    } else {
      model_ = OpenLanguageModel(options_.model);
    }
    phases_.End("model");
  }

  Answers Answer(evaluators::Journal& journal) {
    const int64_t known = journal.Count();
    if (known > 0) {
      progress_.Note(fmt::format("going on: {} of {} requests are answered", known, plan_.size()));
    }
    std::unique_ptr<evaluators::ResponseCache> cache;
    if (!options_.cache.empty()) {
      cache = std::make_unique<evaluators::ResponseCache>(
          options_.cache,
          evaluators::CacheScope(model_->Info(),
                                 {{"batch-tokens", std::to_string(BatchTokens(options_.model))}}));
    }
    evaluators::ExecuteOptions execute;
    execute.journal = &journal;
    execute.cache = cache.get();
    execute.progress = &progress_;
    execute.stop_requested = StopRequested;
    execute.asker = [this](evaluators::RequestSlot slot) {
      return evaluators::Asker(plan_, tasks_, slot);
    };
    std::optional<evaluators::RunningScore> running;
    if (!progress_.quiet()) execute.running = &running.emplace(tasks_, plan_);
    Answers answers = evaluators::Execute(plan_, *model_, execute);
    phases_.End("answers");
    return answers;
  }

  int Stopped() {
    progress_.Note(
        fmt::format("stopped; what was finished is in {}: run the same command again to "
                    "go on",
                    options_.output));
    return kStopped;
  }

  int Finish(const Answers& answers, const std::filesystem::path& folder) {
    reports::RunRecord record;
    record.program_version = ProgramVersion();
    record.versions = ProgramVersions();
    record.model = ToRecord(model_->Info());
    record.settings = settings_;
    FinishRun(tasks_, plan_, answers, options_.selection.tasks, ToLogSamples(options_.log_samples),
              options_.model.threads, folder, record);
    phases_.End("scores");
    WriteTimings(answers, folder);
    std::cout << reports::ConsoleTable(record);
    if (const auto* checked = dynamic_cast<const model_adapters::CheckedModel*>(model_.get())) {
      std::cout << "\n" << model_adapters::Describe(checked->disagreement());
    }
    for (const std::string& note : model_->Notes()) progress_.Note(note);
    progress_.Note("report: " + (folder / "report.md").string());
    int64_t failed = 0;
    for (const reports::TaskRecord& task : record.tasks) failed += task.counts.failed_documents;
    if (failed == 0) return 0;
    throw ModelError(
        "{} documents have no score because a request failed; samples_*.jsonl tells "
        "why (\"not_scored\")",
        failed);
  }

  void WriteTimings(const Answers& answers, const std::filesystem::path& folder) {
    reports::ExecutionRecord execution;
    execution.started_utc = started_;
    execution.phases = phases_.all();
    execution.tasks = Shares(tasks_, plan_, answers);
    execution.batches = answers.batches;
    execution.computed_tokens = answers.computed_tokens;
    char host[256] = "";
    ::gethostname(host, sizeof(host) - 1);
    execution.host = host;
    execution.processes = world_ ? world_->size() : 1;
    execution.threads = options_.model.threads > 0
                            ? options_.model.threads
                            : static_cast<int>(std::thread::hardware_concurrency());
    core::WriteFileAtomic(folder / "timings.json", reports::TimingsJson(execution));
    for (const reports::ExecutionRecord::TaskShare& share : execution.tasks) {
      if (share.cached == 0) continue;
      progress_.Note(fmt::format(
          "{}: {:.1f} % of the answers came from the cache", share.task,
          100.0 * static_cast<double>(share.cached) / static_cast<double>(share.requests)));
    }
  }

  const RunOptions& options_;
  const Context& context_;
  std::vector<reports::Setting> settings_;
  std::string started_ = core::UtcNow();
  core::SteadyClock clock_;
  Phases phases_;
  Progress progress_;
  std::vector<SelectedTask> tasks_;
  RequestPlan plan_;
  std::unique_ptr<model_adapters::Communicator> world_;  ///< absent: one process
  std::unique_ptr<model_adapters::Crew> crew_;           ///< rank 0's
  std::unique_ptr<model_adapters::LanguageModel> model_;
};

}  // namespace

void AddRun(CLI::App& app, Context& context) {
  CLI::App* verb = app.add_subcommand("run", "Evaluate a model on tasks");
  auto options = std::make_shared<RunOptions>();
  AddRunOptions(*verb, *options);
  verb->footer(
      "Example:\n"
      "  natsl-bench run --model DIR --tasks lambada_openai,piqa,hellaswag --data DIR --output "
      "OUT\n"
      "Exit status: 0 done, 2 wrong command line or output folder, 3 data, 4 model, 5 internal,\n"
      "130 stopped by a signal (run the same command again to go on).\n"
      "mpirun -n N natsl-bench run ... (or srun) spreads a run over N processes, each with its "
      "own\n"
      "device; the results are the same.");
  verb->callback(
      [options, verb, &context] { context.status = RunVerb(*options, *verb, context).Run(); });
}

}  // namespace natsl::cli
