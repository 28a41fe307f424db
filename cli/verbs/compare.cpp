#include "cli/verbs/compare.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <limits>
#include <memory>

#include "cli/app.h"
#include "cli/checks/number_checks.h"
#include "cli/verbs/compare_latency.h"
#include "core/files.h"
#include "reports/compare_runs.h"
#include "reports/gate.h"
#include "reports/latency_json.h"

namespace natsl::cli {
namespace {

/// On the terminal; a page lists all.
constexpr size_t kShownFlips = 20;

struct CompareVerbOptions {
  std::string base, changed, gate, junit, markdown;
  reports::CompareOptions compare;
  CompareLatencyOptions latency;
};

/// Two latency runs: options of task runs are refused, and the other way round.
int RunLatency(const CompareVerbOptions& options, const CLI::App& verb) {
  for (const char* name : {"--margin", "--gate"}) {
    if (verb.count(name) > 0) throw UsageError("{} is for task runs, these are latency runs", name);
  }
  if (!reports::IsLatencyRun(options.base) || !reports::IsLatencyRun(options.changed)) {
    const bool first = reports::IsLatencyRun(options.base);
    throw UsageError("{} is a latency run, but {} is not", first ? options.base : options.changed,
                     first ? options.changed : options.base);
  }
  CompareLatencyOptions latency = options.latency;
  latency.base = options.base;
  latency.changed = options.changed;
  latency.junit = options.junit;
  latency.markdown = options.markdown;
  latency.compare.confidence = options.compare.confidence;
  latency.compare.seed = options.compare.seed;
  return CompareLatencyRuns(latency);
}

int Run(const CompareVerbOptions& options, const CLI::App& verb) {
  if (reports::IsLatencyRun(options.base) || reports::IsLatencyRun(options.changed)) {
    return RunLatency(options, verb);
  }
  for (const char* name : {"--tolerance", "--force", "--confirm", "--confirm-rounds"}) {
    if (verb.count(name) > 0) {
      throw UsageError("{} is for latency runs, but neither {} nor {} is one", name, options.base,
                       options.changed);
    }
  }
  if (options.gate.empty() && !options.junit.empty()) {
    throw UsageError("--junit needs --gate");
  }
  std::vector<reports::GateRule> rules;
  if (!options.gate.empty()) rules = reports::ReadGate(options.gate);
  const reports::StoredRun base = reports::ReadRunFolder(options.base);
  const reports::StoredRun changed = reports::ReadRunFolder(options.changed);
  const auto rows = reports::CompareRuns(base, changed, options.compare);
  std::string gate;
  int status = 0;
  if (!rules.empty()) {
    const std::vector<reports::GateResult> results =
        reports::ApplyGate(rules, base, changed, options.compare);
    gate = "\n" + reports::GateMarkdown(results);
    status = reports::GateStatus(results);
    if (!options.junit.empty()) core::WriteFileAtomic(options.junit, reports::GateJunit(results));
  }
  if (!options.markdown.empty()) {
    core::WriteFileAtomic(options.markdown,
                          reports::ComparisonMarkdown(base, changed, rows, SIZE_MAX) + gate);
  }
  std::cout << reports::ComparisonMarkdown(base, changed, rows, kShownFlips) << gate;
  return status;
}

}  // namespace

void AddCompare(CLI::App& app, Context& context) {
  CLI::App* verb = app.add_subcommand(
      "compare", "Two task runs, paired document by document, or two latency runs, point by point");
  auto options = std::make_shared<CompareVerbOptions>();
  verb->add_option("base", options->base, "Output folder of the run to compare with")->required();
  verb->add_option("new", options->changed, "Output folder of the new run")->required();
  verb->add_option("--confidence", options->compare.confidence, "Of intervals and verdicts")
      ->check(RealNumber(0.5, 0.9999))
      ->capture_default_str();
  verb->add_option("--margin", options->compare.margin,
                   "SAME: the interval lies within this of 0, in the effect's unit")
      ->check(RealNumber(0, std::numeric_limits<double>::max()))
      ->capture_default_str();
  verb->add_option("--seed", options->compare.seed, "Seed of the bootstrap")
      ->check(SeedNumber())
      ->capture_default_str();
  verb->add_option("--gate", options->gate, "JSON file of rules; the exit status tells");
  verb->add_option("--junit", options->junit,
                   "With --gate, or of latency runs: JUnit XML to write");
  verb->add_option("--markdown", options->markdown,
                   "Markdown page to write; of task runs it lists all documents that flipped");
  verb->add_option("--tolerance", options->latency.compare.tolerance,
                   "Latency: SAME where the time's ratio lies within 1 +- this")
      ->check(RealNumber(0, 10))
      ->capture_default_str();
  verb->add_flag("--force", options->latency.compare.force,
                 "Latency: compare runs of other machines, dtypes or methods");
  verb->add_option("--confirm", options->latency.confirm,
                   "Latency: two `natsl-bench latency` commands without --output, BASE's and "
                   "NEW's; points that are slower or ambiguous are run again, in turns")
      ->expected(2)
      ->type_name("CMD_A CMD_B");
  verb->add_option("--confirm-rounds", options->latency.confirm_rounds, "Runs of each command")
      ->check(WholeNumber(3, 1000))
      ->capture_default_str();
  verb->footer(
      "A gate file: {\"rules\": [{\"task\": \"piqa\", \"metric\": "
      "\"acc,none\", \"allowed_loss\": "
      "0.01,\n\"confidence\": 0.95, \"require_certainty\": true}]}\n"
      "Exit status with --gate: 0 passed, 1 regression, 3 missing or "
      "not comparable,\n"
      "6 inconclusive where a rule asks for certainty.\n"
      "Of latency runs always: 0 no point slower, 1 a point slower, 3 a point or a run missing or "
      "not comparable,\n6 a point ambiguous.");
  verb->callback([options, verb, &context] { context.status = Run(*options, *verb); });
}

}  // namespace natsl::cli
