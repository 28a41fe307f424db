#include "cli/verbs/latency.h"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>

#include "cli/app.h"
#include "cli/latency_options.h"
#include "cli/terminal.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/files.h"
#include "core/hash.h"
#include "latency/canary.h"
#include "latency/environment.h"
#include "latency/host_memory.h"
#include "latency/plan.h"
#include "latency/profiler.h"
#include "latency/record/summary.h"
#include "reports/console_table.h"
#include "reports/latency_html.h"
#include "reports/latency_json.h"
#include "reports/latency_markdown.h"

namespace natsl::cli {
namespace {

namespace fs = std::filesystem;

std::string Build() {
#ifdef NDEBUG
  const char* kind = "release";
#else
  const char* kind = "debug";
#endif
  return fmt::format("{}, compiler {}", kind, __VERSION__);
}

/// One run of the verb, step by step.
class LatencyVerb {
 public:
  LatencyVerb(const LatencyOptions& options, const Context& context) : options_(options) {
    record_.arguments = context.arguments;
  }

  int Run() {
    variants_ = PlanVariants(options_);
    std::vector<std::string> notes;
    points_ = PlanPoints(options_, variants_, notes);
    for (const std::string& note : notes) Note(note);
    if (points_.empty()) throw UsageError("no point is left to measure");
    if (options_.plan) return PrintPlan();
    if (options_.output.empty()) throw UsageError("--output is required: a folder for the results");
    if (options_.model.device == "cpu") {
      if (const auto available = latency::AvailableMemory()) {
        RequireMemory(points_, variants_, *available, /*loaded=*/false);
      }
    }
    Describe();
    OpenOutput();
    OpenModels();
    MeasurePeaks(record_.machine.canary_before, record_.machine.device_before,
                 record_.machine.gpu_before);
    CatchStopSignals();
    std::optional<Error> failure;
    try {
      Profile(points_, measured_, ProfilerOptions(), clock_, record_);
    } catch (const Error& error) {
      failure = error;
    }
    return Finish(failure);
  }

 private:
  void Note(const std::string& text) const {
    if (!options_.quiet) std::cerr << text << "\n" << std::flush;
  }

  int PrintPlan() const {
    std::vector<std::vector<std::string>> rows;
    for (const latency::Point& point : points_) {
      for (const PlannedVariant& planned : variants_) {
        const latency::Forecast forecast =
            latency::ForecastOf(planned.spec, point, planned.storage);
        rows.push_back({Name(point), planned.variant.label,
                        latency::FormatBytes(forecast.weights_bytes),
                        latency::FormatBytes(forecast.state_bytes),
                        latency::FormatBytes(forecast.activations_bytes)});
      }
    }
    std::cout << reports::MarkdownTable(
        {"Test", "Variant", "Weights", "States", "Activations (about)"}, rows);
    return 0;
  }

  void Describe() {
    record_.program_version = ProgramVersion();
    record_.build = Build();
    record_.started_utc = core::UtcNow();
    record_.machine = latency::DescribeHost();
    gpu_ = latency::OpenGpuCounters(options_.model.device, record_.machine.gpu_absent);
    if (gpu_) record_.machine.gpus.push_back(gpu_->Describe());
    latency::MethodSettings& settings = record_.settings;
    settings.interval_target = options_.interval_percent / 100;
    settings.seconds_per_point = options_.max_seconds;
    settings.min_samples = options_.min_samples;
    settings.max_samples = options_.max_samples;
    settings.depth_state = options_.depth_state;
    settings.ids = "random";
    settings.seed = options_.seed;
    settings.batch_tokens = BatchTokens(options_.model);
    settings.threads = options_.model.threads > 0 ? options_.model.threads : latency::UsableCores();
    for (const PlannedVariant& planned : variants_) record_.variants.push_back(planned.variant);
  }

  // The first write shows at once whether the folder can be written to.
  void OpenOutput() {
    std::error_code error;
    const fs::path folder(options_.output);
    if (fs::exists(folder / "latency.json", error) && !options_.overwrite) {
      throw UsageError(
          "{}: holds a latency run; choose another folder with --output, or give "
          "--overwrite",
          options_.output);
    }
    fs::create_directories(folder, error);
    if (error) {
      throw UsageError("{}: {}; choose another folder with --output", options_.output,
                       error.message());
    }
    record_.incomplete_because = "still running, or ended by force";
    Keep();
  }

  void Keep() const {
    core::WriteFileAtomic(fs::path(options_.output) / "latency.json",
                          reports::LatencyJson(record_));
  }

  void OpenModels() {
    ReadText();
    int64_t free_bytes = -1;
    for (size_t i = 0; i < variants_.size(); ++i) {
      Note(fmt::format("opening {}", variants_[i].variant.label));
      models_.push_back(OpenVariant(options_, variants_[i]));
      const model_adapters::ModelInfo& info = models_.back()->Info();
      latency::Variant& variant = record_.variants[i];
      variant.dtype = info.dtype;
      variant.device = info.device;
      variant.weights_fingerprint = info.weights_fingerprint;
      measured_.push_back({.target = {models_.back().get(), i == 0 ? tokenizer_.get() : nullptr},
                           .spec = &variants_[i].spec,
                           .storage = variants_[i].storage});
      if (const auto memory = models_.back()->Memory()) free_bytes = memory->free_bytes;
    }
    if (free_bytes >= 0) RequireMemory(points_, variants_, free_bytes, /*loaded=*/true);
  }

  // The tokenizer where a phase or --prompt-text needs one, and the ids of the text.
  void ReadText() {
    const bool needed = !options_.prompt_text.empty() ||
                        std::any_of(points_.begin(), points_.end(), [](const latency::Point& p) {
                          return p.phase == latency::Phase::kTokenize;
                        });
    if (!needed) return;
    tokenizer_ = OpenModelTokenizer(options_.model);
    if (options_.prompt_text.empty()) return;
    probe_.text = core::ReadFile(options_.prompt_text, ErrorCode::kData);
    probe_.data = tokenizer_->Encode(probe_.text, false);
    if (probe_.data.empty()) throw DataError("{}: the text has no tokens", options_.prompt_text);
    for (const PlannedVariant& planned : variants_) {
      for (const model_adapters::TokenId id : probe_.data) {
        if (id < planned.spec.vocabulary) continue;
        throw DataError("{}: its id {} is beyond the vocabulary ({}) of {}", options_.prompt_text,
                        id, planned.spec.vocabulary, planned.variant.model);
      }
    }
    record_.settings.ids = core::Sha256Hex(probe_.text);
  }

  void MeasurePeaks(std::optional<latency::CanaryRates>& host,
                    std::optional<latency::CanaryRates>& device,
                    std::optional<latency::GpuReading>& gpu) {
    Note("measuring the machine's peaks");
    host = latency::MeasureHost(static_cast<int>(record_.settings.threads), clock_);
    if (const auto rates = models_.front()->MeasureRates()) {
      device = latency::CanaryRates{rates->flops_per_second, rates->bytes_per_second};
      if (gpu_) gpu = gpu_->Read();
    }
  }

  latency::Computes ComputedOn() const {
    if (options_.model.device == "cpu") return latency::Computes::kHost;
    const bool tokenises = std::any_of(
        points_.begin(), points_.end(),
        [](const latency::Point& point) { return point.phase == latency::Phase::kTokenize; });
    return tokenises ? latency::Computes::kBoth : latency::Computes::kDevice;
  }

  latency::ProfileOptions ProfilerOptions() {
    latency::ProfileOptions options;
    options.warm_up.max_seconds = options_.max_seconds / 2;
    options.stopping.interval_target = options_.interval_percent / 100;
    options.stopping.min_samples = options_.min_samples;
    options.stopping.max_samples = std::max(options_.min_samples, options_.max_samples);
    options.stopping.max_seconds = options_.max_seconds;
    options.probe = probe_;
    options.probe.seed = options_.seed;
    options.probe.synthetic_depth = options_.depth_state == "synthetic";
    options.stop_requested = StopRequested;
    options.note = [this](const std::string& text) { Note(text); };
    options.keep = [this](const latency::LatencyRecord&) { Keep(); };
    options.gpu = gpu_.get();
    return options;
  }

  // The better of the two readings: a peak is what the machine can reach.
  std::optional<latency::CanaryRates> Peaks() const {
    const latency::Machine& machine = record_.machine;
    const bool cpu = options_.model.device == "cpu";
    const auto& before = cpu ? machine.canary_before : machine.device_before;
    const auto& after = cpu ? machine.canary_after : machine.device_after;
    if (!before || !after) return before;
    return latency::CanaryRates{std::max(before->flops_per_second, after->flops_per_second),
                                std::max(before->bytes_per_second, after->bytes_per_second)};
  }

  int Finish(const std::optional<Error>& failure) {
    const bool stopped = StopRequested();
    if (!failure && !stopped) {
      MeasurePeaks(record_.machine.canary_after, record_.machine.device_after,
                   record_.machine.gpu_after);
      record_.complete = true;
      record_.incomplete_because.clear();
    }
    latency::ReadHostAgain(record_.machine);
    record_.labels = latency::LabelsOf(record_.machine, record_.settings.threads, ComputedOn());
    const auto peaks = Peaks();
    for (latency::Measurement& measurement : record_.measurements) {
      const latency::Measured& measured = measured_[static_cast<size_t>(measurement.variant)];
      measurement.roofline =
          latency::RooflineOf(measured.spec, measured.storage, measurement, peaks);
    }
    latency::Analyze(record_);
    record_.ended_utc = core::UtcNow();
    const fs::path folder(options_.output);
    core::WriteFileAtomic(folder / "latency.md", reports::LatencyMarkdown(record_));
    core::WriteFileAtomic(folder / "latency.html", reports::LatencyHtml(record_));
    Keep();
    std::cout << reports::LlamaBenchTable(record_);
    for (const std::string& label : record_.labels) Note(label);
    Note("report: " + (folder / "latency.html").string());
    if (failure) {
      throw failure->WithContext(fmt::format("{} of {} points are kept in {}",
                                             record_.measurements.size() / variants_.size(),
                                             points_.size(), options_.output));
    }
    if (stopped) return kStopped;
    return Expect();
  }

  int Expect() const {
    if (options_.expect.empty()) return 0;
    const latency::ScalingVerdict verdict =
        latency::CheckScaling(record_, options_.expect == "linear" ? 1 : 2);
    std::cout << "\n" << verdict.text;
    using Outcome = latency::ScalingVerdict::Outcome;
    return verdict.outcome == Outcome::kHolds    ? 0
           : verdict.outcome == Outcome::kBroken ? static_cast<int>(ErrorCode::kRegression)
                                                 : static_cast<int>(ErrorCode::kInconclusive);
  }

  const LatencyOptions& options_;
  core::SteadyClock clock_;
  latency::LatencyRecord record_;
  std::vector<PlannedVariant> variants_;
  std::vector<latency::Point> points_;
  std::vector<std::unique_ptr<model_adapters::TokenModel>> models_;
  std::vector<latency::Measured> measured_;
  std::shared_ptr<const model_adapters::Tokenizer> tokenizer_;
  latency::ProbeOptions probe_;
  std::unique_ptr<latency::GpuCounters> gpu_;
};

}  // namespace

void AddLatency(CLI::App& app, Context& context) {
  CLI::App* verb = app.add_subcommand("latency", "Measure speed and memory by length");
  auto options = std::make_shared<LatencyOptions>();
  AddLatencyOptions(*verb, *options);
  verb->footer(
      "Example:\n"
      "  natsl-bench latency --model DIR --prompt 1k-128k*2 --depth 0,32k,128k --baseline DIR2 "
      "--output OUT\n"
      "Exit status: 0 done, 1 the growth that --expect names is broken, 2 wrong command line, "
      "length, memory\nor output folder, 4 model, 5 internal, 6 --expect can't be decided, 130 "
      "stopped by a signal.\n"
      "After a stop or a failure the points so far are in the output folder.");
  verb->callback([options, &context] { context.status = LatencyVerb(*options, context).Run(); });
}

}  // namespace natsl::cli
