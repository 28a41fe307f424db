// `run` as a process: results, determinism, resumption after kills, stops, two at once.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <random>
#include <thread>

#include "core/json.h"
#include "tests/cli/program.h"

namespace natsl::cli {
namespace {

namespace fs = std::filesystem;
using core::Json;

const std::vector<std::string> kFinalFiles = {"results.json", "report.md", "report.html",
                                              "samples_piqa.jsonl"};

class RunTest : public testing::Test {
 protected:
  void Prepare(int documents, const std::string& settings) {
    WritePiqa(folder_.path() / "data", documents);
    WriteScript(folder_ / "script.jsonl", "piqa", folder_ / "data", settings);
  }
  std::vector<std::string> Arguments(const std::string& output,
                                     const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {"run",
                                          "--model",
                                          "scripted:" + (folder_ / "script.jsonl"),
                                          "--tasks",
                                          "piqa",
                                          "--data",
                                          folder_ / "data",
                                          "--output",
                                          folder_ / output,
                                          "--quiet"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  void ExpectSameFiles(const std::string& a, const std::string& b) {
    for (const std::string& file : kFinalFiles) {
      const std::string text = ReadText(folder_.path() / a / file);
      EXPECT_FALSE(text.empty()) << file;
      EXPECT_EQ(text, ReadText(folder_.path() / b / file)) << file;
    }
  }
  Json Results(const std::string& output) {
    return Json::parse(ReadText(folder_.path() / output / "results.json"));
  }
  TestFolder folder_;
};

TEST_F(RunTest, SameCommandSameBytesAndNothingOnStderrWhenQuiet) {
  Prepare(30, "{}");
  const Outcome first = RunProgram(Arguments("a"));
  ASSERT_EQ(first.status, 0) << first.err;
  EXPECT_EQ(first.err, "");
  EXPECT_NE(first.out.find("|piqa"), std::string::npos);
  ASSERT_EQ(RunProgram(Arguments("b", {"--threads", "0"})).status, 0);
  EXPECT_EQ(ReadText(folder_ / "a/samples_piqa.jsonl"), ReadText(folder_ / "b/samples_piqa.jsonl"));
  ASSERT_EQ(RunProgram(Arguments("c")).status, 0);
  ExpectSameFiles("a", "c");
  EXPECT_EQ(Results("a")["n-samples"]["piqa"]["effective"], 30);
  // Again on a finished folder: nothing changes.
  ASSERT_EQ(RunProgram(Arguments("c")).status, 0);
  ExpectSameFiles("a", "c");
}

TEST_F(RunTest, OtherSettingsOnTheSameFolderAreRefusedByName) {
  Prepare(10, "{}");
  ASSERT_EQ(RunProgram(Arguments("a", {"--limit", "5"})).status, 0);
  const std::string before = ReadText(folder_ / "a/results.json");
  const Outcome other = RunProgram(Arguments("a", {"--limit", "6"}));
  EXPECT_EQ(other.status, 2);
  EXPECT_NE(other.err.find("--limit: 5 there, 6 now"), std::string::npos) << other.err;
  EXPECT_EQ(ReadText(folder_ / "a/results.json"), before);
  EXPECT_EQ(RunProgram(Arguments("a", {"--limit", "6", "--overwrite"})).status, 0);
  WriteText(folder_ / "data/piqa/valid-labels.lst", "1\n1\n1\n1\n1\n1\n1\n1\n1\n1\n");
  const Outcome data = RunProgram(Arguments("a", {"--limit", "6"}));
  EXPECT_EQ(data.status, 2);
  EXPECT_NE(data.err.find("data of piqa"), std::string::npos) << data.err;
}

TEST_F(RunTest, TheSameModelByAnotherPathIsTheSame) {
  Prepare(10, "{}");
  ASSERT_EQ(RunProgram(Arguments("a")).status, 0);
  std::vector<std::string> arguments = Arguments("a");
  arguments[2] = "scripted:" + (folder_ / "./data/../script.jsonl");
  const Outcome again = RunProgram(arguments);
  EXPECT_EQ(again.status, 0) << again.err;
  fs::copy_file(folder_ / "script.jsonl", folder_ / "copy.jsonl");
  arguments[2] = "scripted:" + (folder_ / "copy.jsonl");
  EXPECT_EQ(RunProgram(arguments).status, 2);
}

// What is left out without a word is missed by nobody.
TEST_F(RunTest, IdsThatAreOfNoDocumentAreNamed) {
  Prepare(4, "{}");
  const auto with = [&](const std::string& ids, const std::string& output) {
    WriteText(folder_ / "ids.txt", ids);
    return RunProgram(Arguments(output, {"--ids", folder_ / "ids.txt"}));
  };
  const Outcome right = with(
      "\xEF\xBB\xBF"
      "0\r\npiqa:3\nboolq:7\n",
      "right");
  EXPECT_EQ(right.status, 0) << right.err;
  EXPECT_EQ(Results("right")["natsl_bench"]["tasks"][0]["subset"], "2 of 4 by id");
  const Outcome wrong = with("0\n3O\npiqa:9\n", "wrong");
  EXPECT_EQ(wrong.status, 2);
  EXPECT_NE(wrong.err.find("2 of 3 ids are of no document of the tasks: 3O, piqa:9\n"),
            std::string::npos)
      << wrong.err;
  EXPECT_FALSE(fs::exists(folder_ / "wrong"));
}

TEST_F(RunTest, ASettingOfTheWrongKindIsItsOwnFault) {
  Prepare(4, "{}");
  const auto with = [&](const std::string& settings) {
    WriteText(folder_ / "settings.json", settings);
    return RunProgram(Arguments("kind", {"--settings", folder_ / "settings.json"})).err;
  };
  EXPECT_NE(with(R"({"limit": true, "seed": 3})").find("--limit"), std::string::npos);
  EXPECT_NE(with(R"({"overwrite": "maybe", "seed": 3})").find("overwrite"), std::string::npos);
  EXPECT_NE(with(R"({"limit": "x"})").find("--limit: x is not a whole number"), std::string::npos);
  EXPECT_EQ(with(R"({"limit": 2, "bos": "never", "overwrite": true})"), "");
}

TEST_F(RunTest, ACacheIsAFileOfItsOwn) {
  Prepare(4, "{}");
  ASSERT_EQ(RunProgram(Arguments("a")).status, 0);
  const std::string journal = folder_ / "a/journal.sqlite";
  const std::string before = ReadText(journal);
  const Outcome outcome = RunProgram(Arguments("b", {"--cache", journal}));
  EXPECT_EQ(outcome.status, 2);
  EXPECT_NE(outcome.err.find("is a database of something else"), std::string::npos) << outcome.err;
  EXPECT_EQ(ReadText(journal), before);
}

TEST_F(RunTest, FewShotPoolWithoutANumberIsRefused) {
  Prepare(10, "{}");
  const Outcome outcome = RunProgram(Arguments("a", {"--fewshot-from", "first:3"}));
  EXPECT_EQ(outcome.status, 2);
  EXPECT_NE(outcome.err.find("--num-fewshot"), std::string::npos) << outcome.err;
  EXPECT_FALSE(fs::exists(folder_ / "a"));
}

TEST_F(RunTest, SubsetsAreMarked) {
  Prepare(20, "{}");
  ASSERT_EQ(RunProgram(Arguments("a", {"--sample", "5", "--seed", "7"})).status, 0);
  EXPECT_NE(ReadText(folder_ / "a/report.md").find("**SUBSET** piqa: 5 of 20 drawn with seed 7"),
            std::string::npos);
  WriteText(folder_ / "ids", "3\npiqa:11\n");
  ASSERT_EQ(RunProgram(Arguments("b", {"--ids", folder_ / "ids"})).status, 0);
  EXPECT_EQ(Results("b")["n-samples"]["piqa"]["effective"], 2);
}

TEST_F(RunTest, SettingsFileGivesOptionsAndItsOriginIsTold) {
  Prepare(20, "{}");
  WriteText(folder_ / "settings.json",
            "{\"limit\": 4, \"bos\": \"never\", \"log-samples\": \"none\"}");
  ASSERT_EQ(RunProgram(Arguments("a", {"--settings", folder_ / "settings.json", "--bos", "always"}))
                .status,
            0);
  const Json settings = Results("a")["natsl_bench"]["settings"];
  EXPECT_EQ(settings["limit"]["origin"], "file");
  EXPECT_EQ(settings["limit"]["value"], 4);
  EXPECT_EQ(settings["bos"]["value"], "always");
  EXPECT_EQ(settings["bos"]["origin"], "flag");
  EXPECT_EQ(settings["dtype"]["origin"], "default");
  EXPECT_FALSE(fs::exists(folder_ / "a/samples_piqa.jsonl"));
}

TEST_F(RunTest, CacheAnswersAnotherRunWithTheSameResult) {
  Prepare(20, "{}");
  ASSERT_EQ(RunProgram(Arguments("a", {"--cache", folder_ / "cache"})).status, 0);
  ASSERT_EQ(RunProgram(Arguments("b", {"--cache", folder_ / "cache"})).status, 0);
  ExpectSameFiles("a", "b");
  const Json timings = Json::parse(ReadText(folder_ / "b/timings.json"));
  EXPECT_EQ(timings["tasks"]["piqa"]["cached"], 40);
  EXPECT_EQ(timings["batches"], 0);
}

TEST_F(RunTest, FailedRequestsAreReportedAndTheExitStatusSaysSo) {
  Prepare(5, "{}");
  std::string script = ReadText(folder_ / "script.jsonl");
  const size_t at = script.find("\"logprob\"");
  script.insert(at, "\"error\": \"server said no\", ");
  WriteText(folder_ / "script.jsonl", script);
  const Outcome outcome = RunProgram(Arguments("a"));
  EXPECT_EQ(outcome.status, 4) << outcome.err;
  const Json task = Results("a")["natsl_bench"]["tasks"][0];
  EXPECT_EQ(task["requests"]["failed_documents"], 1);
  EXPECT_EQ(task["metrics"][0]["n"], 4);
}

TEST_F(RunTest, KilledAtAnyMomentItGoesOnToTheSameBytes) {
  Prepare(60, R"({"batch_requests": 4, "batch_delay_ms": 2})");
  ASSERT_EQ(RunProgram(Arguments("whole")).status, 0);
  std::mt19937 random(20240601);
  int kills = 0;
  for (int run = 0; kills < 100; ++run) {
    const std::string output = "killed" + std::to_string(run);
    ASSERT_LT(run, 200);
    while (true) {
      BackgroundProgram program(Arguments(output));
      const auto delay = std::chrono::microseconds(random() % 60000);
      const auto end = std::chrono::steady_clock::now() + delay;
      while (!program.Ended() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
      if (program.Ended()) {
        ASSERT_EQ(program.Wait(), 0);
        break;
      }
      program.Signal(SIGKILL);
      if (program.Wait() == 128 + SIGKILL) ++kills;
    }
    ExpectSameFiles("whole", output);
  }
}

/// Waits until the run has answered something.
bool WaitForJournal(const fs::path& folder, BackgroundProgram& program) {
  while (!fs::exists(folder / "journal.sqlite-wal")) {
    if (program.Ended()) return false;
    std::this_thread::yield();
  }
  return true;
}

TEST_F(RunTest, SecondRunOnTheFolderIsRefused) {
  Prepare(60, R"({"batch_requests": 1, "batch_delay_ms": 50})");
  BackgroundProgram first(Arguments("a"));
  ASSERT_TRUE(WaitForJournal(folder_.path() / "a", first));
  const Outcome second = RunProgram(Arguments("a"));
  EXPECT_EQ(second.status, 2);
  EXPECT_NE(second.err.find("another run"), std::string::npos) << second.err;
}

TEST_F(RunTest, AStopSignalStopsCleanlyAndItGoesOn) {
  Prepare(60, R"({"batch_requests": 4, "batch_delay_ms": 10})");
  ASSERT_EQ(RunProgram(Arguments("whole")).status, 0);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const std::string output = "stopped" + std::to_string(signal);
    {
      BackgroundProgram program(Arguments(output));
      ASSERT_TRUE(WaitForJournal(folder_.path() / output, program));
      program.Signal(signal);
      EXPECT_EQ(program.Wait(), 130) << signal;
    }
    EXPECT_FALSE(fs::exists(folder_.path() / output / "results.json"));
    ASSERT_EQ(RunProgram(Arguments(output)).status, 0);
    ExpectSameFiles("whole", output);
  }
}

TEST_F(RunTest, AfterNohupAHangUpStopsNothing) {
  Prepare(60, R"({"batch_requests": 4, "batch_delay_ms": 10})");
  ASSERT_EQ(RunProgram(Arguments("whole")).status, 0);
  BackgroundProgram program(Arguments("a"), {"nohup"});
  ASSERT_TRUE(WaitForJournal(folder_.path() / "a", program));
  program.Signal(SIGHUP);
  EXPECT_EQ(program.Wait(), 0);
  ExpectSameFiles("whole", "a");
}

TEST_F(RunTest, LimitsOfTheProcessAreAnErrorAndItGoesOnWithoutThem) {
  Prepare(60, R"({"batch_requests": 4})");
  ASSERT_EQ(RunProgram(Arguments("whole")).status, 0);
  const auto under = [&](const std::string& limit) {
    return RunProgram(Arguments("a"), "", {"sh", "-c", "ulimit " + limit + "; exec \"$@\"", "sh"});
  };
  for (const char* blocks : {"8", "64"}) {
    const Outcome outcome = under(std::string("-f ") + blocks);
    EXPECT_EQ(outcome.status, 5) << blocks << ": " << outcome.err;
    EXPECT_NE(outcome.err.find("ulimit -f"), std::string::npos) << outcome.err;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  }
  // How many files are open before the first of ours depends on the caller and the libraries.
  int named = 0;
  for (int files = 4; files < 32; ++files) {
    const Outcome outcome = under("-n " + std::to_string(files));
    if (outcome.status == 0) break;
    if (outcome.status == 127) continue;  // not even loaded
    EXPECT_NE(outcome.err.find("Too many open files"), std::string::npos) << outcome.err;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    ++named;
  }
  EXPECT_GT(named, 0);
  ASSERT_EQ(RunProgram(Arguments("a")).status, 0);
  ExpectSameFiles("whole", "a");
}

TEST_F(RunTest, RescoreGivesTheSameBytesWithoutTheModel) {
  Prepare(12, "{}");
  ASSERT_EQ(RunProgram(Arguments("a")).status, 0);
  ASSERT_EQ(RunProgram(Arguments("b")).status, 0);
  fs::remove(folder_ / "script.jsonl");
  for (const std::string& file : kFinalFiles) fs::remove(folder_.path() / "a" / file);
  const Outcome outcome = RunProgram({"rescore", folder_ / "a"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  ExpectSameFiles("a", "b");
  EXPECT_EQ(RunProgram({"rescore", folder_ / "nothing"}).status, 2);
}

TEST_F(RunTest, PlanCountsWithoutWriting) {
  Prepare(10, "{}");
  const Outcome plan = RunProgram(Arguments("a", {"--plan"}));
  EXPECT_EQ(plan.status, 0) << plan.err;
  EXPECT_NE(plan.out.find("|piqa|       10|           20|"), std::string::npos) << plan.out;
  EXPECT_FALSE(fs::exists(folder_ / "a"));
}

}  // namespace
}  // namespace natsl::cli
