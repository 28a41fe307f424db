#include "cli/latency_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <set>

#include "cli/checks/number_checks.h"
#include "core/error.h"
#include "latency/plan.h"
#include "latency/record/lengths.h"
#include "model_adapters/spec/accounting.h"
#include "model_adapters/spec/checkpoint.h"

namespace natsl::cli {
namespace {

namespace fs = std::filesystem;

// The native model's default where a config names no length.
constexpr int64_t kDefaultMaxLength = 2048;

/// The last part of a path that tells: a folder's name, or that of the folder of a config.json.
std::string ShortName(const std::string& path) {
  fs::path name(path);
  while (!name.has_filename() && name.has_parent_path()) name = name.parent_path();
  if (name.filename() == "config.json" && name.has_parent_path()) name = name.parent_path();
  if (name.extension() == ".json") name.replace_extension();
  return name.filename().empty() ? path : name.filename().string();
}

std::string Unique(std::string label, std::set<std::string>& taken) {
  std::string unique = label;
  for (int i = 2; !taken.insert(unique).second; ++i) unique = fmt::format("{} ({})", label, i);
  return unique;
}

PlannedVariant PlanOne(const LatencyOptions& options, const std::string& path,
                       const std::string& role, std::optional<double> share,
                       std::set<std::string>& taken) {
  ModelOptions model = options.model;
  model.model = path;
  if (!IsNative(path)) {
    throw UsageError("{}: latency is measured on checkpoint folders and config.json files", path);
  }
  RequireModelExists(model);
  PlannedVariant planned;
  planned.spec = model_adapters::LoadModelSpec(path);
  const model_adapters::ModelDescription description = model_adapters::Describe(planned.spec);
  if (share && description.mixed_layer_share == 0) {
    throw UsageError("--softmax-share: {} has no NAtS-L layers whose share could be forced", path);
  }
  const bool cpu = model.device == "cpu";
  planned.storage.weight_bytes_each = model.dtype == "bfloat16" ? 2 : 4;
  // The CPU back-end keeps states in float32 whatever the weights are.
  planned.storage.state_bytes_each = cpu ? 4 : planned.storage.weight_bytes_each;
  planned.storage.batch_tokens = BatchTokens(model);
  if (!cpu) {
    planned.storage.least_pass_tokens = planned.storage.batch_tokens;
    planned.storage.batch_tokens =
        std::max(planned.storage.batch_tokens, model_adapters::kLongestDevicePass);
  }
  planned.storage.softmax_share = share.value_or(1);
  latency::Variant& variant = planned.variant;
  variant.role = role;
  variant.model = path;
  variant.softmax_share = share;
  std::string label = ShortName(path);
  if (share) label += fmt::format(", {:g} % softmax", 100 * *share);
  variant.label = Unique(label, taken);
  variant.family = planned.spec.family;
  variant.parameters = description.parameters.total();
  variant.weights_bytes = variant.parameters * planned.storage.weight_bytes_each;
  variant.max_length =
      model.max_length.value_or(planned.spec.max_positions.value_or(kDefaultMaxLength));
  variant.vocabulary = planned.spec.vocabulary;
  variant.dtype = model.dtype;
  variant.device = model.device;
  return planned;
}

void RequireLength(const latency::Point& point, const std::vector<PlannedVariant>& variants) {
  for (const PlannedVariant& planned : variants) {
    if (latency::LengthNeeded(point) <= planned.variant.max_length) continue;
    throw UsageError(
        "{} needs {} tokens a sequence, but {} reads at most {}; give shorter lengths, or a larger "
        "--max-length",
        Name(point), latency::LengthNeeded(point), planned.variant.model,
        planned.variant.max_length);
  }
}

bool Fits(const latency::Point& point, const std::vector<PlannedVariant>& variants) {
  return std::all_of(variants.begin(), variants.end(), [&](const PlannedVariant& planned) {
    return latency::LengthNeeded(point) <= planned.variant.max_length;
  });
}

}  // namespace

void AddLatencyOptions(CLI::App& app, LatencyOptions& options) {
  AddModelOptions(app, options.model);
  app.add_option("--tokenizer", options.model.tokenizer,
                 "Tokenizer folder or file (default: the model's folder, where it has one)");
  app.add_option("--prompt", options.prompt,
                 "Prompt lengths: 512, 1k, 1k-128k*2, 1k-8k+1k, lists (k = 1024)")
      ->capture_default_str();
  app.add_option("--depth", options.depth,
                 "Tokens held before decoding, same forms and 0 (default: the prompt lengths)");
  app.add_option("--batch", options.batch, "Sequences at a time, same forms")
      ->capture_default_str();
  app.add_option("--new-tokens", options.new_tokens, "Tokens of one decoding sample")
      ->check(WholeNumber(1, 1 << 20))
      ->capture_default_str();
  app.add_option("--phases", options.phases, "prefill, ttft, decode, e2e, tokenize, sample; or all")
      ->capture_default_str();
  app.add_option("--softmax-share", options.softmax_share,
                 "NAtS-L: measure the subject at these forced shares, as 0.1,0.25 (default: by its "
                 "own scores)");
  app.add_option("--baseline", options.baselines,
                 "Another checkpoint folder or config.json, measured in the same process and "
                 "rounds; may be repeated")
      ->allow_extra_args(false);
  app.add_option("--output", options.output,
                 "Folder for latency.json, latency.md and latency.html");
  app.add_flag("--overwrite", options.overwrite, "Replace the results of an earlier run there");
  app.add_flag("--plan", options.plan, "Print the points and the memory they need; run nothing");
  app.add_option("--only", options.only, "Of these points only these: pp1k,tg64@d4k");
  app.add_option("--expect", options.expect,
                 "Exit with 1 where the subject's prefill grows faster than this")
      ->check(CLI::IsMember({"linear", "quadratic"}));
  app.add_option("--prompt-text", options.prompt_text,
                 "Text file whose tokens are fed, repeated where they end (default: random ids)");
  app.add_option("--depth-state", options.depth_state,
                 "State of a depth: a real prefill, or one grown from a short one (synthetic)")
      ->check(CLI::IsMember({"prefill", "synthetic"}))
      ->capture_default_str();
  app.add_option("--interval", options.interval_percent,
                 "Percent of the median that half its 95 % interval may be")
      ->check(RealNumber(0, 100))
      ->capture_default_str();
  app.add_option("--max-seconds", options.max_seconds, "Most time of one variant's samples a point")
      ->check(RealNumber(0, 86400, true))
      ->capture_default_str();
  app.add_option("--min-samples", options.min_samples, "Fewest samples, time allowing")
      ->check(WholeNumber(1, 1 << 20))
      ->capture_default_str();
  app.add_option("--max-samples", options.max_samples, "Most samples")
      ->check(WholeNumber(1, 1 << 20))
      ->capture_default_str();
  app.add_option("--seed", options.seed, "Seed of ids, order of rounds and resampling")
      ->check(SeedNumber())
      ->capture_default_str();
  app.add_flag("--quiet", options.quiet, "No progress");
}

std::vector<PlannedVariant> PlanVariants(const LatencyOptions& options) {
  std::vector<PlannedVariant> variants;
  std::set<std::string> taken;
  if (options.softmax_share.empty()) {
    variants.push_back(PlanOne(options, options.model.model, "subject", std::nullopt, taken));
  } else {
    for (const double share : latency::ParseShares(options.softmax_share, "--softmax-share")) {
      variants.push_back(PlanOne(options, options.model.model, "subject", share, taken));
    }
  }
  for (size_t i = 0; i < options.baselines.size(); ++i) {
    variants.push_back(PlanOne(options, options.baselines[i], fmt::format("baseline {}", i + 1),
                               std::nullopt, taken));
  }
  return variants;
}

std::vector<latency::Point> PlanPoints(const LatencyOptions& options,
                                       const std::vector<PlannedVariant>& variants,
                                       std::vector<std::string>& notes) {
  latency::PlanOptions plan;
  plan.phases = latency::ParsePhases(options.phases);
  plan.prompts = latency::ParseLengths(options.prompt, "--prompt", 1);
  plan.depths =
      options.depth.empty() ? plan.prompts : latency::ParseLengths(options.depth, "--depth", 0);
  plan.batches = latency::ParseLengths(options.batch, "--batch", 1);
  plan.new_tokens = options.new_tokens;
  std::vector<latency::Point> points;
  for (const latency::Point& point : latency::MakePlan(plan)) {
    const bool by_default = options.depth.empty() && point.phase == latency::Phase::kDecode;
    if (by_default && !Fits(point, variants)) {
      notes.push_back(
          fmt::format("{} is left out: it would be longer than a model reads (--depth "
                      "chooses depths)",
                      Name(point)));
      continue;
    }
    RequireLength(point, variants);
    points.push_back(point);
  }
  return options.only.empty() ? points : latency::Only(points, options.only);
}

void RequireMemory(const std::vector<latency::Point>& points,
                   const std::vector<PlannedVariant>& variants, int64_t available, bool loaded) {
  for (const latency::Point& point : points) {
    latency::Forecast all;
    for (const PlannedVariant& planned : variants) {
      const latency::Forecast one = latency::ForecastOf(planned.spec, point, planned.storage);
      all.weights_bytes += loaded ? 0 : one.weights_bytes;
      all.state_bytes += one.state_bytes;
      all.least_activations_bytes =
          std::max(all.least_activations_bytes, one.least_activations_bytes);
    }
    if (all.required() <= available) continue;
    throw UsageError(
        "{} needs about {} bytes ({}: weights {}, states {}, activations {}), but {} are "
        "available; give shorter lengths, a smaller --batch, or fewer models",
        Name(point), all.required(), latency::FormatBytes(all.required()),
        loaded ? "loaded already" : latency::FormatBytes(all.weights_bytes),
        latency::FormatBytes(all.state_bytes), latency::FormatBytes(all.least_activations_bytes),
        latency::FormatBytes(available));
  }
}

std::unique_ptr<model_adapters::TokenModel> OpenVariant(const LatencyOptions& options,
                                                        const PlannedVariant& variant) {
  model_adapters::OpenOptions open;
  open.device = options.model.device;
  open.dtype = options.model.dtype;
  open.threads = options.model.threads;
  open.batch_tokens = BatchTokens(options.model);
  open.max_length = options.model.max_length;
  open.random_weights_seed = options.model.random_weights;
  open.forced_softmax_share = variant.variant.softmax_share;
  return model_adapters::OpenNativeModel(variant.variant.model, open);
}

}  // namespace natsl::cli
