// `run --plan` and truncation on a checkpoint that the repository ships.
#include <gtest/gtest.h>

#include <filesystem>

#include "core/json.h"
#include "tests/cli/program.h"

namespace natsl::cli {
namespace {

namespace fs = std::filesystem;

class PlanTest : public testing::Test {
 protected:
  Outcome Run(const std::string& tasks, const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {
        "run",
        "--model",
        fs::path(NATSL_SOURCE_DIR) / "samples/models/tiny-gdn-hybrid",
        "--tasks",
        tasks,
        "--data",
        fs::path(NATSL_SOURCE_DIR) / "samples/data",
        "--quiet"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunProgram(arguments);
  }
  /// The number behind `name` at the start of a line.
  static int64_t Figure(const std::string& plan, const std::string& name) {
    const size_t at = plan.find("\n" + name);
    EXPECT_NE(at, std::string::npos) << name << "\n" << plan;
    return at == std::string::npos ? -1 : std::stoll(plan.substr(at + 1 + name.size()));
  }
  TestFolder folder_;
};

TEST_F(PlanTest, SaysWhatTheRunThenDoes) {
  const Outcome plan = Run("piqa,wikitext", {"--plan"});
  ASSERT_EQ(plan.status, 0) << plan.err;
  ASSERT_EQ(Run("piqa,wikitext", {"--output", folder_ / "out"}).status, 0);
  const auto timings = core::Json::parse(ReadText(folder_ / "out/timings.json"));
  EXPECT_EQ(Figure(plan.out, "tokens to compute"), timings["computed_tokens"].get<int64_t>());
  EXPECT_EQ(Figure(plan.out, "batches"), timings["batches"].get<int64_t>());
  EXPECT_NE(plan.out.find("expected memory"), std::string::npos);
}

TEST_F(PlanTest, DeterministicSaysWhatItCosts) {
  const Outcome plan = Run("piqa", {"--plan", "--deterministic"});
  ASSERT_EQ(plan.status, 0) << plan.err;
  const Outcome packed = Run("piqa", {"--plan"});
  const std::string cost = std::to_string(Figure(plan.out, "batches")) + " batches instead of " +
                           std::to_string(Figure(packed.out, "batches"));
  EXPECT_NE(plan.out.find(cost), std::string::npos) << plan.out;
}

TEST_F(PlanTest, WindowsOfTheTasksOwnLengthAreCounted) {
  WriteText(folder_ / "text/a.txt", std::string(6000, 'x') + " and " + std::string(3000, 'y'));
  const std::string task =
      "extrapolation_text@length=64:bucket=32:windows=3:text=" + (folder_ / "text");
  const Outcome plan = Run(task, {"--plan"});
  ASSERT_EQ(plan.status, 0) << plan.err;
  EXPECT_EQ(Figure(plan.out, "sequences"), 3);
  EXPECT_EQ(Figure(plan.out, "longest (tokens)"), 64);
  EXPECT_EQ(Figure(plan.out, "tokens asked for"), 192);
}

TEST_F(PlanTest, WhatCannotBeAskedIsNamed) {
  const std::vector<std::string> options = {"--truncation", "error", "--max-length", "40"};
  std::vector<std::string> plan_options = options;
  plan_options.push_back("--plan");
  const Outcome plan = Run("piqa", plan_options);
  EXPECT_EQ(plan.status, 3);
  EXPECT_NE(plan.err.find("task piqa, document "), std::string::npos) << plan.err;
  EXPECT_NE(plan.err.find("tokens longer than the model's 40"), std::string::npos) << plan.err;
  std::vector<std::string> run_options = options;
  run_options.insert(run_options.end(), {"--output", folder_ / "out"});
  const Outcome run = Run("piqa", run_options);
  EXPECT_EQ(run.status, 3);
  EXPECT_NE(run.err.find("task piqa, document "), std::string::npos) << run.err;
  EXPECT_FALSE(fs::exists(folder_ / "out"));
}

}  // namespace
}  // namespace natsl::cli
