// A latency comparison as Markdown and as JUnit XML.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "reports/console_table.h"
#include "reports/html_page.h"
#include "reports/latency_compare.h"
#include "reports/svg_axis.h"

namespace natsl::reports {
namespace {

std::string Seconds(double value) { return FormatNumber(value, NumberFormat::kSeconds, 4); }

std::string Evidence(const PointComparison& point) {
  std::string text = point.reason;
  if (point.confirmed_rounds > 0) {
    text += fmt::format("{}confirmed by {} runs of each side", text.empty() ? "" : "; ",
                        point.confirmed_rounds);
  }
  return text;
}

std::string Lines(const char* heading, const std::vector<std::string>& lines) {
  if (lines.empty()) return "";
  std::string out = fmt::format("{}:\n\n", heading);
  for (const std::string& line : lines) out += "- " + line + "\n";
  return out + "\n";
}

}  // namespace

std::string LatencyComparisonMarkdown(const LatencyComparison& comparison,
                                      const LatencyCompareOptions& options) {
  std::string out = "# Latency: NEW against BASE\n\n";
  out += Lines("**Not a pass**", comparison.problems);
  out += Lines("**Not comparable, compared by force**", comparison.differences);
  out += Lines("Notes", comparison.notes);
  std::vector<std::vector<std::string>> rows;
  std::array<int64_t, 5> counts{};
  for (const PointComparison& point : comparison.points) {
    ++counts[static_cast<size_t>(point.verdict)];
    const bool missing = point.verdict == LatencyVerdict::kMissing;
    rows.push_back({Name(point.point), point.variant, Name(point.verdict),
                    missing ? "" : fmt::format("{:+.1f} %", 100 * (point.ratio - 1)),
                    missing ? ""
                            : fmt::format("{:+.1f} to {:+.1f} %", 100 * (point.low - 1),
                                          100 * (point.high - 1)),
                    missing ? "" : Seconds(point.base), missing ? "" : Seconds(point.changed),
                    missing ? "" : fmt::format("{} and {}", point.base_count, point.changed_count),
                    Evidence(point)});
  }
  out += MarkdownTable(
      {"Test", "Variant", "Verdict", "Time", "Interval", "BASE", "NEW", "Samples", "Evidence"},
      rows);
  out += "\n";
  for (const LatencyVerdict verdict :
       {LatencyVerdict::kFaster, LatencyVerdict::kSame, LatencyVerdict::kSlower,
        LatencyVerdict::kAmbiguous, LatencyVerdict::kMissing}) {
    const int64_t count = counts[static_cast<size_t>(verdict)];
    if (count > 0) out += fmt::format("{} {}. ", count, Name(verdict));
  }
  out += fmt::format(
      "SAME: the {:g} % interval of the medians' ratio lies within {:g} % of 1; FASTER and SLOWER: "
      "wholly beyond it; AMBIGUOUS: neither.\n",
      100 * options.confidence, 100 * options.tolerance);
  return out;
}

std::string LatencyComparisonJunit(const LatencyComparison& comparison) {
  int64_t tests = 0, failures = 0;
  std::string cases;
  const auto add = [&](const std::string& group, const std::string& name, const char* type,
                       const std::string& message) {
    ++tests;
    cases += fmt::format("  <testcase classname=\"{}\" name=\"{}\"", EscapeHtml(group),
                         EscapeHtml(name));
    if (type == nullptr) {
      cases += "/>\n";
      return;
    }
    ++failures;
    cases += fmt::format(">\n    <failure type=\"{}\" message=\"{}\"/>\n  </testcase>\n", type,
                         EscapeHtml(message));
  };
  for (const std::string& problem : comparison.problems) add("run", problem, "PROBLEM", problem);
  for (const PointComparison& point : comparison.points) {
    const bool good =
        point.verdict == LatencyVerdict::kSame || point.verdict == LatencyVerdict::kFaster;
    add(point.variant, Name(point.point), good ? nullptr : Name(point.verdict),
        fmt::format("time {:+.1f} % [{:+.1f}, {:+.1f}] {}", 100 * (point.ratio - 1),
                    100 * (point.low - 1), 100 * (point.high - 1), Evidence(point)));
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuite name=\"natsl-bench latency\" tests=\"{}\" failures=\"{}\">\n{}</testsuite>\n",
      tests, failures, cases);
}

}  // namespace natsl::reports
