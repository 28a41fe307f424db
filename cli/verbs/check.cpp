#include "cli/verbs/check.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <iostream>
#include <limits>

#include "cli/app.h"
#include "cli/model_options.h"
#include "cli/checks/number_checks.h"
#include "core/cast.h"
#include "core/error.h"
#include "core/python_random.h"
#include "reports/console_table.h"

namespace natsl::cli {
namespace {

using model_adapters::TokenId;
using model_adapters::Trace;

struct CheckOptions {
  ModelOptions model;
  std::vector<int64_t> lengths = {1, 7, 63, 64, 65, 131};
  std::vector<int64_t> splits = {1, 16, 50, 64};
  double bound = 0;
  uint64_t seed = 0;
};

/// The largest difference between two traces and where it is.
struct Deviation {
  double largest = 0;
  std::string where = "-";
  int64_t first_layer_beyond = -1;  ///< of the hidden states, beyond the bound
};

/// `rows` [positions, width] of one tensor. `relative`: as shares of its largest value.
void Compare(std::span<const float> a, std::span<const float> b, int64_t width, bool relative,
             const std::string& tensor, Deviation& deviation) {
  double unit = relative ? 0 : 1;
  for (size_t i = 0; relative && i < a.size(); ++i) {
    unit = std::max(unit, std::fabs(static_cast<double>(a[i])));
  }
  if (!(unit > 0)) unit = 1;
  for (size_t i = 0; i < a.size(); ++i) {
    double difference = std::fabs(static_cast<double>(a[i]) - static_cast<double>(b[i])) / unit;
    if (!std::isfinite(difference)) {
      difference = a[i] == b[i] ? 0 : std::numeric_limits<double>::infinity();
    }
    if (difference > deviation.largest) {
      deviation.largest = difference;
      deviation.where = fmt::format("{}, position {}", tensor, static_cast<int64_t>(i) / width);
    }
  }
}

Deviation Compare(const Trace& whole, const Trace& other, bool relative, double bound) {
  Deviation deviation;
  const auto layer_size = static_cast<size_t>(whole.tokens * whole.hidden);
  for (int64_t layer = 0; layer <= whole.layers; ++layer) {
    const size_t begin = static_cast<size_t>(layer) * layer_size;
    Compare(std::span(whole.hidden_states).subspan(begin, layer_size),
            std::span(other.hidden_states).subspan(begin, layer_size), whole.hidden, relative,
            layer == 0 ? "embeddings" : fmt::format("output of layer {}", layer - 1), deviation);
    if (deviation.first_layer_beyond < 0 && !(deviation.largest <= bound)) {
      deviation.first_layer_beyond = layer;
    }
  }
  Compare(whole.logits, other.logits, core::Size(whole.logits) / whole.tokens, relative, "logits",
          deviation);
  return deviation;
}

std::vector<int64_t> Pieces(int64_t length, int64_t size) {
  std::vector<int64_t> pieces;
  for (int64_t at = 0; at < length; at += size) pieces.push_back(std::min(size, length - at));
  return pieces;
}

int Run(const CheckOptions& options) {
  const auto longest = std::max_element(options.lengths.begin(), options.lengths.end());
  if (options.model.max_length && *longest > *options.model.max_length) {
    throw UsageError(
        "--lengths has {}, but --max-length is {}; give shorter ones, or a larger "
        "--max-length",
        *longest, *options.model.max_length);
  }
  const auto model = OpenTokenModel(options.model);
  const bool float32 = options.model.dtype == "float32";
  const double bound = options.bound > 0 ? options.bound : float32 ? 1e-4 : 5e-2;
  // A device is compared with the CPU too. Its module comes first: LibTorch asks only once whether
  // it has CUDA.
  std::unique_ptr<model_adapters::TokenModel> cpu;
  if (options.model.device != "cpu") {
    ModelOptions on_cpu = options.model;
    on_cpu.device = "cpu";
    cpu = OpenTokenModel(on_cpu);
  }
  const double cpu_bound = options.bound > 0 ? options.bound : float32 ? 1e-3 : 5e-2;
  // A GPU's activations are bfloat16 too, and rounded at the size of the largest.
  const bool relative = cpu && !float32;
  std::vector<std::vector<std::string>> rows;
  bool failed = false;
  for (const int64_t length : options.lengths) {
    core::PythonRandom random(options.seed);
    std::vector<TokenId> ids;
    for (int64_t i = 0; i < length; ++i) {
      ids.push_back(static_cast<TokenId>(random.RandBelow(model->Info().vocabulary)));
    }
    const Trace whole = model->Forward(ids, /*hidden_states=*/true, {});
    const auto compare = [&](const std::string& with, const Trace& other, double most) {
      const Deviation deviation = Compare(whole, other, relative, most);
      const bool good = deviation.largest <= most;
      failed |= !good;
      rows.push_back(
          {fmt::format("{}", length), with, fmt::format("{:.2e}", deviation.largest),
           deviation.where, fmt::format("{:.0e}", most),
           good ? "same"
                : fmt::format("DIFFERENT from {} on",
                              deviation.first_layer_beyond < 0 ? "the head"
                              : deviation.first_layer_beyond == 0
                                  ? "the embeddings"
                                  : fmt::format("layer {}", deviation.first_layer_beyond - 1))});
    };
    if (cpu) compare("the CPU", cpu->Forward(ids, true, {}), cpu_bound);
    for (const int64_t split : options.splits) {
      if (split > 1 && split >= length) continue;
      compare(split == 1 ? "token by token" : fmt::format("pieces of {}", split),
              model->Forward(ids, true, Pieces(length, split)), bound);
    }
  }
  std::cout << reports::MarkdownTable(
      {"Length", "Whole against", "Largest difference", "Where", "Bound", "Verdict"}, rows);
  if (relative) std::cout << "\nDifferences are shares of each tensor's largest value.\n";
  std::cout << (failed ? "\nThe forms differ: don't trust this checkpoint's numbers here.\n"
                       : "\nAll forms agree.\n");
  return failed ? static_cast<int>(ErrorCode::kRegression) : 0;
}

}  // namespace

void AddCheck(CLI::App& app, Context& context) {
  CLI::App* verb = app.add_subcommand(
      "check", "Whole pass, pieces with carried state and token by token give the same");
  auto options = std::make_shared<CheckOptions>();
  AddModelOptions(*verb, options->model);
  verb->add_option("--lengths", options->lengths, "Sequence lengths, with commas between")
      ->delimiter(',')
      ->check(WholeNumber(1, int64_t{1} << 24))
      ->capture_default_str();
  verb->add_option("--splits", options->splits, "Sizes of the pieces (1: token by token)")
      ->delimiter(',')
      ->check(WholeNumber(1, int64_t{1} << 24))
      ->capture_default_str();
  verb->add_option(
          "--bound", options->bound,
          "Largest difference allowed (default: 1e-4 in float32, 0.05 in bfloat16; of a GPU "
          "from the CPU 1e-3 in float32, and in bfloat16 shares of the largest value)")
      ->check(RealNumber(0, std::numeric_limits<double>::max(), /*beyond=*/true));
  verb->add_option("--seed", options->seed, "Seed of the random ids")
      ->check(SeedNumber())
      ->capture_default_str();
  verb->footer("Exit status: 0 all forms agree, 1 they differ.");
  verb->callback([options, &context] { context.status = Run(*options); });
}

}  // namespace natsl::cli
