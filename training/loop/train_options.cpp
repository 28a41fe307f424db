// Declaring and checking the options.
#include "training/loop/train_options.h"

#include <CLI/CLI.hpp>

#include "cli/checks/number_checks.h"
#include "core/error.h"
#include "core/json.h"
#include "training/data/mixture.h"
#include "training/loop/schedule.h"

namespace natsl::training {
namespace {

constexpr double kMost = 1e9;

}  // namespace

void AddTrainOptions(CLI::App& app, TrainOptions& o) {
  app.add_option("--config", o.config, "config.json of the model to train (any family's)")
      ->required();
  app.add_option("--tokenizer", o.tokenizer, "Folder of its tokenizer")->required();
  app.add_option("--output", o.output,
                 "Folder for the checkpoint, the log and the plot; a run that was stopped goes on")
      ->required();
  app.add_option("--steps", o.steps, "Optimizer steps")->check(cli::WholeNumber(1, 100'000'000));
  app.add_option("--batch-tokens", o.batch_tokens, "Tokens of a step, over all GPUs")
      ->check(cli::WholeNumber(16, int64_t{1} << 30));
  app.add_option("--context", o.context, "Tokens of a row")
      ->check(cli::WholeNumber(16, int64_t{1} << 20));
  app.add_option(
      "--curriculum", o.curriculum,
      "Context lengths in order, with weights: 256*4,512*2,2048 (in place of --context)");
  app.add_option("--accumulate", o.accumulate, "Micro-batches of a step")
      ->check(cli::WholeNumber(1, 4096));
  app.add_option("--lr", o.lr, "Learning rate after warm-up")->check(cli::RealNumber(0, kMost));
  app.add_option("--min-lr", o.min_lr, "Learning rate of the last step (cosine)")
      ->check(cli::RealNumber(0, kMost));
  app.add_option("--warmup", o.warmup, "Steps of linear warm-up")
      ->check(cli::WholeNumber(0, 100'000'000));
  app.add_option("--weight-decay", o.weight_decay, "AdamW's decay, of matrices alone")
      ->check(cli::RealNumber(0, kMost));
  app.add_option("--clip", o.clip, "Largest norm of a step's gradient; 0: any")
      ->check(cli::RealNumber(0, kMost));
  app.add_option("--beta1", o.beta1, "AdamW's first moment")->check(cli::RealNumber(0, 0.999999));
  app.add_option("--beta2", o.beta2, "AdamW's second moment")->check(cli::RealNumber(0, 0.999999));
  app.add_option("--dtype", o.dtype, "Type of products (weights and moments stay float32)")
      ->check(CLI::IsMember({"float32", "bfloat16"}));
  app.add_option("--save-dtype", o.save_dtype, "Type of the saved weights")
      ->check(CLI::IsMember({"float32", "bfloat16"}));
  app.add_option("--device", o.device, "cpu, cuda or cuda:N");
  app.add_option("--gpus", o.gpus, "GPUs of this host that share each step (one process a GPU)")
      ->check(cli::WholeNumber(1, 64));
  app.add_option("--seed", o.seed, "Seed of weights and data")->check(cli::SeedNumber());
  app.add_option("--mixture", o.mixture,
                 "Shares of the generated documents: needle, needles, recall, phonebook, story");
  app.add_option("--threads", o.threads, "Threads that generate data, a GPU")
      ->check(cli::WholeNumber(1, 256));
  app.add_option("--checkpoint-every", o.checkpoint_every, "Steps between checkpoints")
      ->check(cli::WholeNumber(1, 100'000'000));
  app.add_option("--log-every", o.log_every, "Steps between log lines")
      ->check(cli::WholeNumber(1, 100'000'000));
  app.add_option("--stop-after", o.stop_after,
                 "Stop with a checkpoint after so many steps of this call (0: at the end)")
      ->check(cli::WholeNumber(0, 100'000'000));
  app.add_flag("--quiet", o.quiet, "No progress lines");
}

std::string IdentityJson(const TrainOptions& o) {
  core::Json json;
  json["steps"] = o.steps;
  json["batch_tokens"] = o.batch_tokens;
  json["curriculum"] = o.curriculum.empty() ? std::to_string(o.context) : o.curriculum;
  json["accumulate"] = o.accumulate;
  json["lr"] = o.lr;
  json["min_lr"] = o.min_lr;
  json["warmup"] = o.warmup;
  json["weight_decay"] = o.weight_decay;
  json["clip"] = o.clip;
  json["beta1"] = o.beta1;
  json["beta2"] = o.beta2;
  json["dtype"] = o.dtype;
  json["gpus"] = o.gpus;
  json["seed"] = o.seed;
  json["mixture"] = ToString(ParseMixture(o.mixture));
  return json.dump();
}

void CheckTrainOptions(const TrainOptions& o) {
  ParseMixture(o.mixture);
  const auto phases =
      ParseCurriculum(o.curriculum.empty() ? std::to_string(o.context) : o.curriculum, o.steps);
  for (const Phase& phase : phases) {
    const int64_t unit = phase.context * o.accumulate * o.gpus;
    if (o.batch_tokens % unit != 0) {
      throw UsageError(
          "--batch-tokens {} is no multiple of {} (context {} times {} micro-batches times {} "
          "GPUs)",
          o.batch_tokens, unit, phase.context, o.accumulate, o.gpus);
    }
  }
  if (o.min_lr > o.lr) throw UsageError("--min-lr {} is above --lr {}", o.min_lr, o.lr);
  if (o.warmup > o.steps) throw UsageError("--warmup {} is above --steps {}", o.warmup, o.steps);
}

}  // namespace natsl::training
