// Runs over several processes with mpirun: the same bytes, and what happens when one dies. Skipped
// where mpirun or the MPI module isn't there.
#include <dirent.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "core/json.h"
#include "tests/cli/program.h"

namespace natsl::cli {
namespace {

namespace fs = std::filesystem;

bool OnPath(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::stringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (fs::exists(fs::path(folder) / program)) return true;
  }
  return false;
}

std::vector<std::string> Mpirun(int ranks) {
  return {"mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none",
          "-n",     std::to_string(ranks)};
}

class SpreadTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!OnPath("mpirun")) GTEST_SKIP() << "mpirun is not installed";
    if (!fs::exists(fs::path(NATSL_BINARY_DIR) / "natsl_mpi.so")) {
      GTEST_SKIP() << "natsl_mpi is not built (no MPI where it was configured)";
    }
  }
  std::vector<std::string> Arguments(const std::string& output,
                                     const std::vector<std::string>& more = {},
                                     const std::string& model = "tiny-gdn-hybrid") {
    std::vector<std::string> arguments = {
        "run",
        "--model",
        fs::path(NATSL_SOURCE_DIR) / "samples/models" / model,
        "--tasks",
        "piqa,lambada_openai,wikitext,nq_open",
        "--data",
        fs::path(NATSL_SOURCE_DIR) / "samples/data",
        "--output",
        folder_ / output,
        "--threads",
        "1",
        "--batch-tokens",
        "512",
        "--quiet"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  void ExpectSameFiles(const std::string& a, const std::string& b) {
    int files = 0;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder_.path() / a)) {
      const std::string name = entry.path().filename();
      if (name.starts_with("journal") || name == "timings.json") continue;
      EXPECT_EQ(ReadText(entry.path()), ReadText(folder_.path() / b / name)) << name;
      ++files;
    }
    EXPECT_GE(files, 7);
  }
  TestFolder folder_;
};

TEST_F(SpreadTest, TwoAndFourProcessesGiveTheBytesOfOne) {
  ASSERT_EQ(RunProgram(Arguments("one")).status, 0);
  for (const int ranks : {2, 4}) {
    const std::string output = std::to_string(ranks);
    const Outcome outcome = RunProgram(Arguments(output), "", Mpirun(ranks));
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    ExpectSameFiles("one", output);
    const auto timings = core::Json::parse(ReadText(folder_.path() / output / "timings.json"));
    EXPECT_EQ(timings["processes"], ranks);
  }
}

TEST_F(SpreadTest, WhatNatsHeadsChoseComesFromAllProcesses) {
  ASSERT_EQ(RunProgram(Arguments("one", {}, "tiny-natsl-hybrid")).status, 0);
  const Outcome outcome = RunProgram(Arguments("two", {}, "tiny-natsl-hybrid"), "", Mpirun(2));
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  ExpectSameFiles("one", "two");
  const auto results = core::Json::parse(ReadText(folder_ / "two/results.json"));
  EXPECT_GT(results["natsl_bench"]["model"]["softmax_share"]["chunks"].get<int64_t>(), 0);
}

TEST_F(SpreadTest, ErrorsAreThoseOfOneProcess) {
  const Outcome outcome = RunProgram(
      Arguments("error", {"--truncation", "error", "--max-length", "40"}), "", Mpirun(2));
  EXPECT_EQ(outcome.status, 3) << outcome.err;
  EXPECT_NE(outcome.err.find("natsl-bench: error: task piqa, document "), std::string::npos)
      << outcome.err;
  std::vector<std::string> scripted = Arguments("scripted");
  scripted[2] = "scripted:nothing";
  EXPECT_EQ(RunProgram(scripted, "", Mpirun(2)).status, 2);
}

/// The process of `rank` that `launcher` started; -1 where there is none (any more).
pid_t FindRank(pid_t launcher, int rank) {
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const std::string stat = ReadText(entry.path() / "stat");
    const size_t end = stat.rfind(')');
    if (end == std::string::npos) continue;
    std::istringstream fields(stat.substr(end + 1));
    std::string state;
    pid_t parent = 0;
    fields >> state >> parent;
    if (parent != launcher || state == "Z") continue;
    const std::string environment = ReadText(entry.path() / "environ");
    const std::string wanted = "OMPI_COMM_WORLD_RANK=" + std::to_string(rank) + '\0';
    if (environment.find(wanted) != std::string::npos) return std::stoi(name);
  }
  return -1;
}

TEST_F(SpreadTest, ARankThatDiesEndsTheRunClearlyAndItGoesOn) {
  // Many small batches, so that the run lasts.
  const std::vector<std::string> slow = {"--no-prefix-sharing", "--deterministic"};
  ASSERT_EQ(RunProgram(Arguments("one", slow)).status, 0);
  const std::string errors = folder_ / "stderr";
  BackgroundProgram program(Arguments("a", slow), Mpirun(2), errors);
  while (!fs::exists(folder_.path() / "a" / "journal.sqlite-wal")) {
    ASSERT_FALSE(program.Ended()) << ReadText(errors);
    std::this_thread::yield();
  }
  const pid_t victim = FindRank(program.pid(), 1);
  ASSERT_GT(victim, 0);
  ASSERT_EQ(::kill(victim, SIGKILL), 0);
  EXPECT_NE(program.Wait(), 0);
  const std::string said = ReadText(errors);
  EXPECT_NE(said.find("rank 1 (process " + std::to_string(victim)), std::string::npos) << said;
  EXPECT_NE(said.find("run the same command again to go on"), std::string::npos) << said;
  EXPECT_FALSE(fs::exists(folder_.path() / "a" / "results.json"));
  const Outcome again = RunProgram(Arguments("a", slow));
  ASSERT_EQ(again.status, 0) << again.err;
  ExpectSameFiles("one", "a");
}

}  // namespace
}  // namespace natsl::cli
