#include "cli/verbs/study.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>

#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "model_adapters/spec/accounting.h"
#include "model_adapters/spec/checkpoint.h"
#include "reports/latency_json.h"
#include "reports/ratio_page.h"
#include "reports/runs_page.h"
#include "reports/runs_shape.h"
#include "reports/summary_page.h"

namespace natsl::cli {
namespace {

namespace fs = std::filesystem;

struct SummaryOptions {
  std::vector<std::string> runs;
  std::string title = "Tiny models", latency, markdown, html;
};

void RunSummary(const SummaryOptions& options) {
  reports::Summary summary;
  summary.title = options.title;
  for (const std::string& folder : options.runs) {
    summary.runs.push_back(reports::ReadReportedRun(folder));
  }
  reports::LabelRuns(summary.runs);
  if (!options.latency.empty()) summary.latency = reports::ReadLatencyJson(options.latency);
  if (!options.html.empty()) core::WriteFileAtomic(options.html, reports::SummaryHtml(summary));
  if (!options.markdown.empty()) {
    core::WriteFileAtomic(options.markdown, reports::SummaryMarkdown(summary));
  }
  std::cout << reports::Finding(summary.runs) << "\n";
}

struct RatioOptions {
  std::string folder, page, plots;
  int64_t trained_length = 512, state_length = 8192;
};

/// Arms in the order of the page; others in the folder are left alone.
constexpr std::pair<const char*, const char*> kArms[] = {
    {"linear", "linear"}, {"24to1", "24:1"},      {"12to1", "12:1"},  {"6to1", "6:1"},
    {"3to1", "3:1"},      {"softmax", "softmax"}, {"natsl", "NAtS-L"}};

reports::RatioRun ReadRun(const fs::path& folder, bool learned, double layer_share) {
  const core::Json json = core::ReadJsonFile(folder / "training.json", ErrorCode::kData);
  const core::JsonObject training(json, (folder / "training.json").string(), ErrorCode::kData);
  reports::RatioRun run;
  run.seed = training.Object("options").Int("seed");
  run.train_loss = training.Double("loss");
  run.share = learned ? training.Double("softmax_share") : layer_share;
  const reports::ReportedRun reported = reports::ReadReportedRun(folder / "run");
  for (const reports::TaskRecord& task : reported.record.tasks) {
    const auto losses = reports::LossByPosition(task);
    for (const reports::PositionLoss& block : losses) run.loss_by_end[block.end] = block.loss;
    if (!losses.empty()) continue;
    const reports::MetricRecord* metric = reports::PrimaryMetric(task);
    if (metric == nullptr || !metric->value.value) continue;
    run.scores[task.name] = *metric->value.value / (metric->name == "score" ? 100 : 1);
  }
  return run;
}

void RunRatio(const RatioOptions& options) {
  reports::RatioStudy study;
  study.trained_length = options.trained_length;
  study.state_length = options.state_length;
  for (const auto& [folder, name] : kArms) {
    std::vector<fs::path> seeds;
    for (const auto& entry : fs::directory_iterator(options.folder)) {
      const std::string file = entry.path().filename().string();
      if (file.starts_with(std::string(folder) + "-seed") &&
          fs::exists(entry.path() / "run" / "results.json")) {
        seeds.push_back(entry.path());
      }
    }
    if (seeds.empty()) continue;
    std::ranges::sort(seeds);
    const model_adapters::ModelSpec spec = model_adapters::LoadModelSpec(seeds.front());
    const model_adapters::ModelDescription about = model_adapters::Describe(spec);
    reports::RatioArm arm;
    arm.name = name;
    arm.learned = about.mixed_layer_share > 0;
    arm.layer_share = about.softmax_layer_share;
    arm.parameters = about.parameters.total();
    double share = 0;
    for (const fs::path& seed : seeds) {
      arm.runs.push_back(ReadRun(seed, arm.learned, arm.layer_share));
      share += arm.runs.back().share / static_cast<double>(seeds.size());
    }
    const auto state = model_adapters::StateBytesAt(spec, options.state_length, 4, share);
    arm.kv_bytes = state.kv;
    arm.fixed_bytes = state.recurrent + state.convolution;
    study.arms.push_back(std::move(arm));
  }
  if (study.arms.empty()) {
    throw DataError("{}: no folders like 3to1-seed1 with run/results.json in them", options.folder);
  }
  std::error_code error;
  fs::create_directories(options.plots, error);
  if (error) throw UsageError("{}: {}", options.plots, error.message());
  const std::string shown =
      options.page.empty()
          ? options.plots
          : fs::relative(options.plots, fs::absolute(options.page).parent_path()).string();
  const reports::RatioPage page = reports::MakeRatioPage(study, shown);
  for (const auto& [file, svg] : page.plots) {
    core::WriteFileAtomic(fs::path(options.plots) / file, svg + "\n");
  }
  if (options.page.empty()) {
    std::cout << page.markdown;
  } else {
    core::WriteFileAtomic(options.page, page.markdown);
  }
}

}  // namespace

void AddStudy(CLI::App& app) {
  CLI::App* verb = app.add_subcommand("study", "Reports over several trained models");
  verb->require_subcommand(1);
  auto summary = std::make_shared<SummaryOptions>();
  CLI::App* one = verb->add_subcommand(
      "summary", "Models side by side: what was found in a sentence, recall, loss, speed");
  one->add_option("runs", summary->runs, "Output folders of runs")->required();
  one->add_option("--title", summary->title, "The report's title");
  one->add_option("--latency", summary->latency, "Output folder of a latency run");
  one->add_option("--markdown", summary->markdown, "Markdown file to write");
  one->add_option("--html", summary->html, "Self-contained HTML page to write");
  one->callback([summary] { RunSummary(*summary); });
  auto ratio = std::make_shared<RatioOptions>();
  CLI::App* two = verb->add_subcommand(
      "ratio", "Recall, loss and state bytes against softmax share (see scripts/study-ratio)");
  two->add_option("folder", ratio->folder, "Folder with ARM-seedN folders of trained models")
      ->required();
  two->add_option("--page", ratio->page, "Markdown file to write (default: stdout)");
  two->add_option("--plots", ratio->plots, "Folder for the SVG plots")->required();
  two->add_option("--trained-length", ratio->trained_length, "Longest context of training")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 40));
  two->add_option("--state-length", ratio->state_length, "Tokens at which states are counted")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 40));
  two->callback([ratio] { RunRatio(*ratio); });
}

}  // namespace natsl::cli
