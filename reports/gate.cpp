#include "reports/gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/json.h"
#include "reports/console_table.h"
#include "reports/html_page.h"

namespace natsl::reports {
namespace {

GateRule ReadRule(const core::JsonObject& json) {
  static const std::set<std::string> known = {"task", "metric", "allowed_loss", "confidence",
                                              "require_certainty"};
  for (const auto& [key, value] : json.json().items()) {
    if (!known.contains(key)) throw json.Wrong(key, "no such key in a rule");
  }
  GateRule rule;
  rule.task = json.String("task");
  rule.metric = json.String("metric");
  rule.allowed_loss = json.Double("allowed_loss");
  if (json.Has("confidence")) rule.confidence = json.Double("confidence");
  if (json.Has("require_certainty")) rule.require_certainty = json.Bool("require_certainty");
  if (!(rule.allowed_loss >= 0)) throw json.Wrong("allowed_loss", "0 or more");
  if (!(rule.confidence > 0.5 && rule.confidence < 1)) {
    throw json.Wrong("confidence", "between 0.5 and 1");
  }
  return rule;
}

GateResult Judge(const GateRule& rule, const MetricComparison* row) {
  GateResult result;
  result.rule = rule;
  if (row == nullptr) {
    result.text = "no such task or metric in either run";
    return result;
  }
  if (row->verdict == Verdict::kMissing) {
    result.text = row->reason;
    return result;
  }
  result.text = fmt::format(
      "effect {:+.4f} {}, interval [{:+.4f}, {:+.4f}], allowed loss {}, "
      "{} documents",
      row->effect, row->unit, row->low, row->high, rule.allowed_loss, row->pairs);
  if (row->low >= -rule.allowed_loss) {
    result.outcome = GateOutcome::kPass;
  } else if (row->high < -rule.allowed_loss) {
    result.outcome = GateOutcome::kRegression;
  } else if (rule.require_certainty) {
    result.outcome = GateOutcome::kInconclusive;
  } else {
    result.outcome =
        row->effect >= -rule.allowed_loss ? GateOutcome::kPass : GateOutcome::kRegression;
  }
  return result;
}

}  // namespace

const char* Name(GateOutcome outcome) {
  switch (outcome) {
    case GateOutcome::kPass:
      return "PASS";
    case GateOutcome::kRegression:
      return "REGRESSION";
    case GateOutcome::kInconclusive:
      return "INCONCLUSIVE";
    case GateOutcome::kMissing:
      return "MISSING";
  }
  return "?";
}

std::vector<GateRule> ReadGate(const std::filesystem::path& file) {
  const core::Json json = core::ReadJsonFile(file, ErrorCode::kUsage, {.unique_keys = true});
  const core::JsonObject object(json, file.string(), ErrorCode::kUsage);
  for (const auto& [key, value] : object.json().items()) {
    if (key != "rules") throw object.Wrong(key, "only \"rules\"");
  }
  const core::Json& list = object.At("rules");
  if (!list.is_array() || list.empty()) throw object.Wrong("rules", "a list of at least one rule");
  std::vector<GateRule> rules;
  for (const core::Json& entry : list) {
    rules.push_back(ReadRule(core::JsonObject(
        entry, fmt::format("{}: rule {}", file.string(), rules.size()), ErrorCode::kUsage)));
  }
  return rules;
}

std::vector<GateResult> ApplyGate(const std::vector<GateRule>& rules, const StoredRun& base,
                                  const StoredRun& changed, const CompareOptions& options) {
  std::vector<GateResult> results;
  for (const GateRule& rule : rules) {
    CompareOptions at_confidence = options;
    at_confidence.confidence = rule.confidence;
    const std::vector<MetricComparison> rows = CompareRuns(base, changed, at_confidence);
    const auto found = std::find_if(rows.begin(), rows.end(), [&](const MetricComparison& row) {
      return row.task == rule.task && row.metric == rule.metric;
    });
    results.push_back(Judge(rule, found == rows.end() ? nullptr : &*found));
  }
  return results;
}

int GateStatus(const std::vector<GateResult>& results) {
  const auto any = [&](GateOutcome outcome) {
    return std::any_of(results.begin(), results.end(),
                       [&](const GateResult& result) { return result.outcome == outcome; });
  };
  if (results.empty() || any(GateOutcome::kMissing)) return static_cast<int>(ErrorCode::kData);
  if (any(GateOutcome::kRegression)) return static_cast<int>(ErrorCode::kRegression);
  if (any(GateOutcome::kInconclusive)) return static_cast<int>(ErrorCode::kInconclusive);
  return 0;
}

std::string GateMarkdown(const std::vector<GateResult>& results) {
  std::vector<std::vector<std::string>> rows;
  for (const GateResult& result : results) {
    rows.push_back({result.rule.task, result.rule.metric, Name(result.outcome), result.text});
  }
  return "## Gate\n\n" + MarkdownTable({"Task", "Metric", "Outcome", "Evidence"}, rows);
}

std::string GateJunit(const std::vector<GateResult>& results) {
  int64_t failures = 0;
  std::string cases;
  for (const GateResult& result : results) {
    cases += fmt::format("  <testcase classname=\"{}\" name=\"{}\"", EscapeHtml(result.rule.task),
                         EscapeHtml(result.rule.metric));
    if (result.outcome == GateOutcome::kPass) {
      cases += "/>\n";
      continue;
    }
    ++failures;
    cases += fmt::format(">\n    <failure type=\"{}\" message=\"{}\"/>\n  </testcase>\n",
                         Name(result.outcome), EscapeHtml(result.text));
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuite name=\"natsl-bench gate\" tests=\"{}\" failures=\"{}\">\n{}"
      "</testsuite>\n",
      results.size(), failures, cases);
}

}  // namespace natsl::reports
