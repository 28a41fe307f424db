// A gate over a comparison, for CI: rules from a JSON file, one outcome each,
// failing closed.
//
// {"rules": [{"task": "piqa", "metric": "acc,none", "allowed_loss": 0.01,
// "confidence": 0.95,
//             "require_certainty": true}]}
// A rule passes where the effect's lower bound is at least -allowed_loss; it is
// a regression where the upper bound is below that. In between,
// require_certainty makes it inconclusive; otherwise the effect itself decides.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "reports/compare_runs.h"

namespace natsl::reports {

struct GateRule {
  std::string task, metric;
  double allowed_loss = 0;
  double confidence = 0.95;
  bool require_certainty = false;
};

enum class GateOutcome { kPass, kRegression, kInconclusive, kMissing };
const char* Name(GateOutcome outcome);

struct GateResult {
  GateRule rule;
  GateOutcome outcome = GateOutcome::kMissing;
  std::string text;  ///< one line: the numbers, or what is missing
};

/// Throws Error (usage): unreadable, no rule, an unknown or mistyped key.
std::vector<GateRule> ReadGate(const std::filesystem::path& file);
std::vector<GateResult> ApplyGate(const std::vector<GateRule>& rules, const StoredRun& base,
                                  const StoredRun& changed, const CompareOptions& options);
/// 0; 3 where anything is missing, else 1 on a regression, else 6 where
/// anything is inconclusive.
int GateStatus(const std::vector<GateResult>& results);

std::string GateMarkdown(const std::vector<GateResult>& results);
std::string GateJunit(const std::vector<GateResult>& results);

}  // namespace natsl::reports
