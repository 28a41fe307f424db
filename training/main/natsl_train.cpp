// natsl-train: trains tiny models of the suite's families on generated data.
//
//   natsl-train --config config.json --tokenizer DIR --output DIR ...
//   natsl-train tokenizer --output DIR
//   natsl-train text --output FILE
#include <signal.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <iostream>
#include <new>
#include <string>
#include <vector>

#include "cli/checks/number_checks.h"
#include "core/error.h"
#include "core/files.h"
#include "core/standard_streams.h"
#include "training/data/evaluation_text.h"
#include "training/data/tokenizer_trainer.h"
#include "training/loop/processes.h"
#include "training/loop/trainer.h"

namespace natsl::training {
namespace {

constexpr int kStopped = 130;
std::atomic<bool> stop_requested = false;

void OnSignal(int) { stop_requested = true; }

/// Parses; help goes to stdout. True where the command is to run.
bool Parse(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
    return true;
  } catch (const CLI::CallForHelp&) {
    std::cout << app.help();
    return false;
  } catch (const CLI::ParseError& error) {
    // What nothing takes goes before what is missing: it may be the same, misspelt.
    if (const std::vector<std::string> unknown = app.remaining(); !unknown.empty()) {
      throw UsageError("unknown {} {} (see {} --help)",
                       unknown.front().starts_with('-') ? "option" : "argument", unknown.front(),
                       app.get_name());
    }
    std::string message = error.what();
    for (char& c : message) {
      if (c == '\n') c = ' ';
    }
    throw UsageError("{} (see {} --help)", message, app.get_name());
  }
}

int RunTokenizer(int argc, char** argv) {
  CLI::App app("Learns the tiny models' tokenizer from generated text", "natsl-train tokenizer");
  std::string output;
  TokenizerOptions options;
  app.add_option("--output", output, "Folder for tokenizer.model and tokenizer_config.json")
      ->required();
  app.add_option("--vocabulary", options.vocabulary, "Ids in all")
      ->check(cli::WholeNumber(512, 2048));
  app.add_option("--seed", options.seed, "Seed of the text")->check(cli::SeedNumber());
  if (!Parse(app, argc, argv)) return 0;
  WriteTokenizer(output, TrainTokenizer(options));
  return 0;
}

int RunText(int argc, char** argv) {
  CLI::App app("Writes stories that training never draws, for language-model losses",
               "natsl-train text");
  std::string output;
  EvaluationTextOptions options;
  app.add_option("--output", output, "The file")->required();
  app.add_option("--stories", options.stories, "How many")->check(cli::WholeNumber(1, 1'000'000));
  app.add_option("--seed", options.seed, "Seed of the stories")->check(cli::SeedNumber());
  if (!Parse(app, argc, argv)) return 0;
  core::WriteFileAtomic(output, EvaluationText(options));
  return 0;
}

int RunTrain(int argc, char** argv) {
  CLI::App app(
      "Trains a tiny model on generated data; `natsl-train tokenizer` and `natsl-train "
      "text` make its tokenizer and text to evaluate it on",
      "natsl-train");
  app.footer(
      "Exit status: 0 done, 2 wrong command line or output, 3 data, 4 model, 5 internal,\n"
      "130 stopped by a signal with a checkpoint to go on from.");
  TrainOptions options;
  AddTrainOptions(app, options);
  if (!Parse(app, argc, argv)) return 0;
  CheckTrainOptions(options);
  if (options.gpus == 1) {
    signal(SIGINT, OnSignal);
    signal(SIGTERM, OnSignal);
  }
  const Rank rank = StartRanks(options.gpus, options.output);
  const TrainResult result = Train(options, rank, stop_requested);
  const int others = rank.index == 0 ? WaitForRanks() : 0;
  if (others != 0) return others;
  if (rank.index == 0) {
    std::cout << fmt::format("{}: step {} of {}, loss {:.4f}", options.output, result.step,
                             options.steps, result.loss);
    if (result.tokens_per_second > 0) {
      std::cout << fmt::format(", {:.0f} tokens/s", result.tokens_per_second);
    }
    std::cout << "\n";
  }
  return stop_requested && !result.finished ? kStopped : 0;
}

int Main(int argc, char** argv) {
  try {
    const std::string verb = argc > 1 ? argv[1] : "";
    if (verb == "tokenizer") return RunTokenizer(argc - 1, argv + 1);
    if (verb == "text") return RunText(argc - 1, argv + 1);
    return RunTrain(argc, argv);
  } catch (const Error& error) {
    core::PrintError("natsl-train", error.what());
    return static_cast<int>(error.code());
  } catch (const std::bad_alloc&) {
    core::PrintError("natsl-train", "out of memory");
  } catch (const std::exception& error) {
    core::PrintError("natsl-train", std::string("internal: ") + error.what());
  }
  return static_cast<int>(ErrorCode::kInternal);
}

}  // namespace
}  // namespace natsl::training

int main(int argc, char** argv) {
  natsl::core::KeepStandardStreams();
  return natsl::training::Main(argc, argv);
}
