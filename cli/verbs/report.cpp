#include "cli/verbs/report.h"

#include <CLI/CLI.hpp>
#include <iostream>

#include "core/error.h"
#include "core/files.h"
#include "reports/runs_page.h"

namespace natsl::cli {
namespace {

struct ReportOptions {
  std::vector<std::string> runs;
  std::string html, markdown, json;
};

void Run(const ReportOptions& options) {
  std::vector<reports::ReportedRun> runs;
  for (const std::string& folder : options.runs) {
    runs.push_back(reports::ReadReportedRun(folder));
  }
  reports::LabelRuns(runs);
  const auto write = [](const std::string& file, const std::string& content) {
    core::WriteFileAtomic(file, content);
    std::cerr << "report: " << file << "\n";
  };
  if (!options.html.empty()) write(options.html, reports::RunsHtml(runs));
  if (!options.markdown.empty()) write(options.markdown, reports::RunsMarkdown(runs));
  if (!options.json.empty()) write(options.json, reports::RunsJson(runs));
  if (options.html.empty() && options.markdown.empty() && options.json.empty()) {
    std::cout << reports::RunsMarkdown(runs);
  }
}

}  // namespace

void AddReport(CLI::App& app) {
  CLI::App* verb =
      app.add_subcommand("report", "One or several task runs side by side: HTML, Markdown, JSON");
  auto options = std::make_shared<ReportOptions>();
  verb->add_option("runs", options->runs, "Output folders of runs")->required();
  verb->add_option("--html", options->html, "Self-contained HTML page to write");
  verb->add_option("--markdown", options->markdown, "Markdown page to write");
  verb->add_option("--json", options->json, "JSON file to write");
  verb->footer(
      "Without a file to write, Markdown goes to stdout.\n"
      "Example:\n"
      "  natsl-bench report out/base out/new --html side-by-side.html");
  verb->callback([options] { Run(*options); });
}

}  // namespace natsl::cli
