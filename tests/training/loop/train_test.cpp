// Whole runs of a tiny model on the CPU: the same curve after a stop, a checkpoint that the native
// model opens with the same logits, errors of the program.
#include <ATen/Parallel.h>
#include <c10/core/GradMode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "core/error.h"
#include "core/files.h"
#include "core/folder_lock.h"
#include "core/json.h"
#include "model_adapters/native/native_model.h"
#include "model_adapters/safetensors/reader.h"
#include "model_adapters/spec/checkpoint.h"
#include "model_adapters/tokenizer.h"
#include "tests/process_folder.h"
#include "training/data/tokenizer_trainer.h"
#include "training/loop/train_log.h"
#include "training/loop/trainer.h"
#include "training/network.h"

namespace natsl::training {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr const char* kTransformer = R"({"model_type": "transformer", "vocab_size": 512,
  "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_heads": 2,
  "hidden_act": "swish", "norm_eps": 1e-6, "tie_word_embeddings": false})";
constexpr const char* kHybrid = R"({"model_type": "gated_deltanet", "vocab_size": 512,
  "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_heads": 2,
  "head_dim": 8, "expand_v": 2.0, "hidden_act": "swish", "norm_eps": 1e-6,
  "tie_word_embeddings": false, "attn": {"layers": [1], "num_heads": 2}})";

class Training : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = tests::ProcessFolder() / (std::string("natsl_train_") + test->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    const fs::path tokenizer = tests::ProcessFolder() / "natsl_train_tokenizer";
    if (!fs::exists(tokenizer / "tokenizer.model")) {
      WriteTokenizer(tokenizer, TrainTokenizer({.vocabulary = 512}));
    }
    options_.tokenizer = tokenizer.string();
    at::set_num_threads(1);  // tensors are tiny
    options_.quiet = true;
    options_.steps = 12;
    options_.batch_tokens = 256;
    options_.curriculum = "64*2,128";
    options_.warmup = 2;
    options_.log_every = 3;
    options_.checkpoint_every = 5;
    options_.save_dtype = "float32";
  }

  TrainOptions Options(const char* config, const std::string& output) {
    core::WriteFileAtomic(folder_ / "config.json", config);
    options_.config = (folder_ / "config.json").string();
    options_.output = (folder_ / output).string();
    return options_;
  }
  static std::string Read(const std::string& folder, const char* file) {
    return core::ReadFile(fs::path(folder) / file, ErrorCode::kData);
  }

  fs::path folder_;
  TrainOptions options_;
  std::atomic<bool> stop_ = false;
};

TEST_F(Training, AStoppedRunGoesOnToTheSameBytes) {
  for (const char* config : {kTransformer, kHybrid}) {
    const std::string name = config == kHybrid ? "hybrid" : "transformer";
    const TrainOptions whole = Options(config, name + "_whole");
    EXPECT_TRUE(Train(whole, {}, stop_).finished);
    TrainOptions parts = Options(config, name + "_parts");
    parts.stop_after = 4;  // in the middle of a log interval
    parts.threads = 2;
    EXPECT_EQ(Train(parts, {}, stop_).step, 4);
    EXPECT_EQ(Train(parts, {}, stop_).step, 8);
    EXPECT_TRUE(Train(parts, {}, stop_).finished);
    EXPECT_EQ(Read(parts.output, "train_log.jsonl"), Read(whole.output, "train_log.jsonl"));
    EXPECT_EQ(Read(parts.output, "model.safetensors"), Read(whole.output, "model.safetensors"));
    const std::string log = Read(whole.output, "train_log.jsonl");
    EXPECT_EQ(std::ranges::count(log, '\n'), 4);
    EXPECT_THAT(Read(whole.output, "loss.svg"), HasSubstr("<svg"));
    EXPECT_THAT(Read(whole.output, "CARD.md"), HasSubstr("| tokens | 3072 |"));
  }
}

TEST_F(Training, ARunThatIsOverKeepsItsCard) {
  TrainOptions options = Options(kTransformer, "over");
  options.output += "/";
  options.stop_after = 6;
  Train(options, {}, stop_);
  options.stop_after = 0;
  Train(options, {}, stop_);
  const std::string card = Read(options.output, "CARD.md");
  EXPECT_THAT(card, HasSubstr("# over\n"));
  EXPECT_THAT(Read(options.output, "loss.svg"), HasSubstr(">over<"));
  // The time of the first part is in it.
  const auto timing = core::Json::parse(Read(options.output, "training.json"));
  std::vector<double> seconds;
  std::stringstream lines(Read(options.output, "train_timing.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    seconds.push_back(core::Json::parse(line)["seconds"]);
  }
  ASSERT_EQ(seconds.size(), 4u);
  EXPECT_TRUE(std::ranges::is_sorted(seconds));
  EXPECT_GE(timing["seconds"].get<double>(), seconds.back());
  const std::string facts = Read(options.output, "training.json");
  const std::string weights = Read(options.output, "model.safetensors");
  EXPECT_TRUE(Train(options, {}, stop_).finished);
  EXPECT_EQ(Read(options.output, "CARD.md"), card);
  EXPECT_EQ(Read(options.output, "training.json"), facts);
  EXPECT_EQ(Read(options.output, "model.safetensors"), weights);
  // With the card gone it is written again, but not without a log.
  fs::remove(fs::path(options.output) / "CARD.md");
  EXPECT_TRUE(Train(options, {}, stop_).finished);
  EXPECT_THAT(Read(options.output, "CARD.md"), HasSubstr("| tokens | 3072 |"));
  fs::remove(fs::path(options.output) / "CARD.md");
  fs::remove(fs::path(options.output) / "train_log.jsonl");
  EXPECT_THROW(Train(options, {}, stop_), Error);
  EXPECT_FALSE(fs::exists(fs::path(options.output) / "train.lock"));
}

TEST_F(Training, AFolderIsOneRunsAtATime) {
  const TrainOptions options = Options(kTransformer, "busy");
  fs::create_directories(options.output);
  const core::FolderLock other(options.output, "train.lock", core::FolderLock::File::kGoes);
  try {
    Train(options, {}, stop_);
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUsage);
    EXPECT_THAT(error.what(), HasSubstr("another run is writing to this folder"));
  }
  EXPECT_FALSE(fs::exists(fs::path(options.output) / "config.json"));
}

TEST_F(Training, TheCheckpointHasItsTokenizerWhateverItsFileIsCalled) {
  TrainOptions options = Options(kTransformer, "by_file");
  options.steps = 2;
  options.curriculum = "64";
  const std::string folder = options.tokenizer;
  const auto fingerprint = model_adapters::OpenTokenizer(folder)->fingerprint();
  fs::create_directories(folder_ / "spiece");
  fs::copy(fs::path(folder) / "tokenizer.model", folder_ / "spiece/spiece.model");
  fs::copy(fs::path(folder) / "tokenizer_config.json", folder_ / "spiece/tokenizer_config.json");
  options.tokenizer = (folder_ / "spiece").string();
  Train(options, {}, stop_);
  EXPECT_EQ(model_adapters::OpenTokenizer(options.output)->fingerprint(), fingerprint);
  options.output = (folder_ / "by_file").string() + "2";
  fs::copy(fs::path(folder) / "tokenizer.model", folder_ / "mine.bin");
  options.tokenizer = (folder_ / "mine.bin").string();
  Train(options, {}, stop_);
  EXPECT_EQ(model_adapters::OpenTokenizer(options.output)->Encode("QK 41", false),
            model_adapters::OpenTokenizer(options.tokenizer)->Encode("QK 41", false));
}

TEST_F(Training, AnUnfinishedStepIsLostWithItsLogLines) {
  TrainOptions options = Options(kTransformer, "killed");
  options.stop_after = 5;
  Train(options, {}, stop_);
  // As after a kill behind the checkpoint: a later line is there, its step isn't.
  const std::string log = Read(options.output, "train_log.jsonl");
  const LogLine later{.step = 6, .tokens = 1536, .context = 64, .loss = 1};
  core::WriteFileAtomic(fs::path(options.output) / "train_log.jsonl", log + ToJson(later) + "\n");
  options.stop_after = 0;
  Train(options, {}, stop_);
  const TrainOptions whole = Options(kTransformer, "whole");
  Train(whole, {}, stop_);
  EXPECT_EQ(Read(options.output, "train_log.jsonl"), Read(whole.output, "train_log.jsonl"));
}

TEST_F(Training, MicroBatchesGiveNearlyTheSameLoss) {
  TrainOptions whole = Options(kTransformer, "one"), split = Options(kTransformer, "two");
  whole.output = (folder_ / "one").string();
  split.accumulate = 2;
  whole.mixture = split.mixture = "story=1";  // every token learned: equal weights of the parts
  const double first = Train(whole, {}, stop_).loss, second = Train(split, {}, stop_).loss;
  EXPECT_NEAR(first, second, 1e-3);
}

TEST_F(Training, TheLossFalls) {
  TrainOptions options = Options(kTransformer, "falls");
  options.steps = 60;
  options.curriculum = "64";
  options.lr = 1e-2;
  options.mixture = "story=1";
  options.log_every = 10;
  Train(options, {}, stop_);
  const std::string log = Read(options.output, "train_log.jsonl");
  const LogLine first = ParseLogLine(log.substr(0, log.find('\n')), "log");
  const size_t last_begin = log.rfind('\n', log.size() - 2) + 1;
  const LogLine last = ParseLogLine(log.substr(last_begin, log.size() - 1 - last_begin), "log");
  EXPECT_LT(last.loss, first.loss - 1.0);
}

TEST_F(Training, TheNativeModelOpensTheCheckpointWithTheSameLogits) {
  for (const char* config : {kTransformer, kHybrid}) {
    const TrainOptions options = Options(config, config == kHybrid ? "hybrid" : "transformer");
    Train(options, {}, stop_);
    const auto spec = model_adapters::LoadModelSpec(options.output);
    const Network network(spec, 1, at::kCPU);
    {
      const c10::AutoGradMode no_gradients(false);
      const model_adapters::SafetensorsFolder weights(options.output);
      for (const auto& [name, parameter] : network.Parameters()) {
        const auto* view = weights.tensors().at(name);
        at::Tensor target = parameter;
        target.copy_(at::from_blob(const_cast<std::byte*>(view->data), view->shape, at::kFloat));
      }
    }
    const auto tokenizer = model_adapters::OpenTokenizer(options.output);
    const auto ids = tokenizer->Encode("QK 41 ZR 07\nQK 41 ZR", true);
    const at::Tensor input = at::tensor(std::vector<int64_t>(ids.begin(), ids.end())).view({1, -1});
    const at::Tensor ours = network.Logits(input, at::kFloat).detach().contiguous();
    const auto native = model_adapters::native::OpenModel(options.output, {});
    const model_adapters::Trace trace = native->Forward(ids, false, {});
    ASSERT_EQ(static_cast<int64_t>(trace.logits.size()), ours.numel());
    const float* values = ours.const_data_ptr<float>();
    for (size_t i = 0; i < trace.logits.size(); ++i) {
      ASSERT_NEAR(trace.logits[i], values[i], 2e-4);
    }
  }
}

TEST_F(Training, RefusesAnotherRunsFolderAndBadOptions) {
  TrainOptions options = Options(kTransformer, "taken");
  options.stop_after = 1;
  Train(options, {}, stop_);
  const auto error_of = [&](const TrainOptions& changed) -> std::string {
    try {
      Train(changed, {}, stop_);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  TrainOptions changed = options;
  changed.lr = 1e-3;
  EXPECT_THAT(error_of(changed), HasSubstr("holds another run"));
  changed = options;
  changed.batch_tokens = 200;
  EXPECT_THAT(error_of(changed), HasSubstr("no multiple of 64"));
  changed = options;
  changed.warmup = 100;
  EXPECT_THAT(error_of(changed), HasSubstr("--warmup 100 is above --steps 12"));
  changed = options;
  changed.device = "tpu";
  changed.output += "_device";
  EXPECT_THAT(error_of(changed), HasSubstr("expected cpu, cuda or cuda:N"));
  changed = Options(R"({"model_type": "transformer", "vocab_size": 256, "hidden_size": 32,
    "num_hidden_layers": 1, "num_heads": 2})",
                    "small");
  EXPECT_THAT(error_of(changed), HasSubstr("has 512 ids"));
}

int RunTrainer(const std::string& arguments, const fs::path& err) {
  const std::string command =
      std::string(NATSL_BINARY_DIR) + "/natsl-train " + arguments + " >/dev/null 2>" + err.string();
  const int status = std::system(command.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(Training, TheProgramSaysWhatIsWrong) {
  const fs::path err = folder_ / "err";
  const auto said = [&] { return core::ReadFile(err, ErrorCode::kData); };
  EXPECT_EQ(RunTrainer("--config x --tokenizer y", err), 2);
  EXPECT_THAT(said(), HasSubstr("--output is required"));
  EXPECT_EQ(
      RunTrainer("--config /nonexistent --tokenizer y --output " + (folder_ / "out").string(), err),
      4);
  EXPECT_THAT(said(), HasSubstr("/nonexistent"));
  EXPECT_EQ(RunTrainer("--config x --tokenizer y --output z --dtype float8", err), 2);
  EXPECT_EQ(RunTrainer("--config x --tokenizer y --output z --mixture recal=1", err), 2);
  EXPECT_THAT(said(), HasSubstr("no kind 'recal'"));
  EXPECT_EQ(RunTrainer("tokenizer --vocabulary 100 --output z", err), 2);
  EXPECT_EQ(RunTrainer("--help", err), 0);
  EXPECT_EQ(RunTrainer("--config x --tokenizer y --ouput z", err), 2);
  EXPECT_THAT(said(), HasSubstr("unknown option --ouput"));
  EXPECT_EQ(RunTrainer("frobnicate", err), 2);
  EXPECT_THAT(said(), HasSubstr("unknown argument frobnicate"));
}

// Numbers that CLI11 alone wraps or lets through.
TEST_F(Training, NumbersOutOfRangeAreRefused) {
  for (const char* wrong :
       {"--seed -1", "--lr nan", "--clip nan", "--min-lr -nan", "--beta1 1", "--weight-decay inf",
        "--steps 0", "--steps 2x", "--batch-tokens 9223372036854775808"}) {
    CLI::App app;
    TrainOptions options;
    AddTrainOptions(app, options);
    try {
      app.parse(std::string("--config x --tokenizer y --output z ") + wrong);
      ADD_FAILURE() << wrong;
    } catch (const CLI::ParseError& error) {
      EXPECT_THAT(error.what(), HasSubstr(" is not a ")) << wrong;
    }
  }
}

}  // namespace
}  // namespace natsl::training
