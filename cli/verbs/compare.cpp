#include "cli/verbs/compare.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <limits>

#include "cli/app.h"
#include "cli/number_checks.h"
#include "core/files.h"
#include "reports/compare_runs.h"
#include "reports/gate.h"

namespace natsl::cli {
namespace {

struct CompareVerbOptions {
  std::string base, changed, gate, junit, markdown;
  reports::CompareOptions compare;
};

int Run(const CompareVerbOptions& options) {
  if (options.gate.empty() && !options.junit.empty()) {
    throw UsageError("--junit needs --gate");
  }
  std::vector<reports::GateRule> rules;
  if (!options.gate.empty()) rules = reports::ReadGate(options.gate);
  const reports::StoredRun base = reports::ReadRunFolder(options.base);
  const reports::StoredRun changed = reports::ReadRunFolder(options.changed);
  std::string page = reports::ComparisonMarkdown(
      base, changed, reports::CompareRuns(base, changed, options.compare));
  int status = 0;
  if (!rules.empty()) {
    const std::vector<reports::GateResult> results =
        reports::ApplyGate(rules, base, changed, options.compare);
    page += "\n" + reports::GateMarkdown(results);
    status = reports::GateStatus(results);
    if (!options.junit.empty()) core::WriteFileAtomic(options.junit, reports::GateJunit(results));
  }
  if (!options.markdown.empty()) core::WriteFileAtomic(options.markdown, page);
  std::cout << page;
  return status;
}

}  // namespace

void AddCompare(CLI::App& app, Context& context) {
  CLI::App* verb = app.add_subcommand("compare", "Two task runs, paired document by document");
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
  verb->add_option("--junit", options->junit, "With --gate: JUnit XML to write");
  verb->add_option("--markdown", options->markdown, "Markdown page to write");
  verb->footer(
      "A gate file: {\"rules\": [{\"task\": \"piqa\", \"metric\": "
      "\"acc,none\", \"allowed_loss\": "
      "0.01,\n\"confidence\": 0.95, \"require_certainty\": true}]}\n"
      "Exit status with --gate: 0 passed, 1 regression, 3 missing or "
      "not comparable,\n"
      "6 inconclusive where a rule asks for certainty.");
  verb->callback([options, &context] { context.status = Run(*options); });
}

}  // namespace natsl::cli
