// Exit statuses, messages and cheap verbs of the program.
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>

#include "core/json.h"
#include "tests/cli/program.h"

namespace natsl::cli {
namespace {

namespace fs = std::filesystem;

TEST(CommandLine, VersionAndHelp) {
  const Outcome version = RunProgram({"--version"});
  EXPECT_EQ(version.status, 0);
  EXPECT_TRUE(std::regex_match(version.out, std::regex("natsl-bench \\d+\\.\\d+\\.\\d+\n")));
  const core::Json json = core::Json::parse(RunProgram({"--version", "--json"}).out);
  EXPECT_EQ("natsl-bench " + json["version"].get<std::string>() + "\n", version.out);
  const Outcome help = RunProgram({"run", "--help"});
  EXPECT_EQ(help.status, 0);
  for (const char* option :
       {"--model", "--tasks", "--data", "--output", "--limit", "--num-fewshot", "--fewshot-from",
        "--fewshot-sampler", "--dtype", "--device", "--threads", "--batch-tokens", "--max-length",
        "--bos", "--truncation", "--log-samples", "--seed", "--plan"}) {
    EXPECT_NE(help.out.find(option), std::string::npos) << option;
  }
}

TEST(CommandLine, UnknownOptionAndVerbSuggest) {
  const Outcome option = RunProgram({"run", "--limt", "3"});
  EXPECT_EQ(option.status, 2);
  EXPECT_NE(option.err.find("--limit"), std::string::npos) << option.err;
  EXPECT_EQ(std::count(option.err.begin(), option.err.end(), '\n'), 1) << option.err;
  const Outcome verb = RunProgram({"lst"});
  EXPECT_EQ(verb.status, 2);
  EXPECT_NE(verb.err.find("list"), std::string::npos) << verb.err;
  EXPECT_EQ(RunProgram({}).status, 2);
}

TEST(CommandLine, ListsEveryTable) {
  for (const char* what : {"tasks", "models", "tokenizers", "datasets", "kernels"}) {
    const Outcome outcome = RunProgram({"list", what});
    EXPECT_EQ(outcome.status, 0) << what;
    EXPECT_GT(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 3) << what;
  }
  EXPECT_NE(RunProgram({"list", "tasks", "--verbose"}).out.find("licence"), std::string::npos);
  EXPECT_EQ(RunProgram({"list", "tasks", "--markdown"}).out,
            ReadText(NATSL_SOURCE_DIR "/docs/tasks.md"))
      << "write it anew: natsl-bench list tasks --markdown > docs/tasks.md";
}

class RunErrors : public testing::Test {
 protected:
  void SetUp() override {
    WritePiqa(folder_.path() / "data", 4);
    WriteText(folder_ / "script.jsonl", "");
  }
  std::vector<std::string> Arguments(const std::string& tasks, const std::string& data,
                                     const std::string& model) {
    return {"run",     "--tasks", tasks,      "--data",       folder_ / data,
            "--model", model,     "--output", folder_ / "out"};
  }
  void Expect(const std::vector<std::string>& arguments, int status, const std::string& part) {
    const Outcome outcome = RunProgram(arguments);
    EXPECT_EQ(outcome.status, status) << outcome.err;
    EXPECT_NE(outcome.err.find("natsl-bench: error: "), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
    EXPECT_FALSE(fs::exists(folder_ / "out")) << "something was written for " << part;
  }
  std::string Script() { return "scripted:" + (folder_ / "script.jsonl"); }
  TestFolder folder_;
};

TEST_F(RunErrors, UnknownTaskNamesTheNearest) {
  Expect(Arguments("pica", "data", Script()), 2, "piqa");
}
TEST_F(RunErrors, MissingDataFolderAndDataset) {
  Expect(Arguments("piqa", "nowhere", Script()), 3, "nowhere");
  Expect(Arguments("hellaswag", "data", Script()), 3, "hellaswag");
}
TEST_F(RunErrors, BrokenRecordNamesFileAndLine) {
  WriteText(folder_.path() / "data/piqa/valid.jsonl",
            "{\"goal\": \"g\", \"sol1\": \"a\", \"sol2\": \"b\"}\n{\"goal\": \"g\"}\n");
  WriteText(folder_.path() / "data/piqa/valid-labels.lst", "0\n1\n");
  Expect(Arguments("piqa", "data", Script()), 3, "valid.jsonl:2");
}
TEST_F(RunErrors, MissingAndBrokenModel) {
  Expect(Arguments("piqa", "data", folder_ / "no-model"), 4, "no-model");
  WriteText(folder_ / "script.jsonl", "{\"type\": \"loglikelihood\"\n");
  Expect(Arguments("piqa", "data", Script()), 4, "script.jsonl:1");
}
TEST_F(RunErrors, OutputFolderOfAnotherRun) {
  WriteText(folder_ / "out/results.json", "{}");
  const Outcome outcome = RunProgram(Arguments("piqa", "data", Script()));
  EXPECT_EQ(outcome.status, 2);
  EXPECT_NE(outcome.err.find("--overwrite"), std::string::npos) << outcome.err;
  EXPECT_EQ(ReadText(folder_ / "out/results.json"), "{}");
}
TEST_F(RunErrors, OutputBelowAFile) {
  WriteText(folder_ / "file", "x");
  std::vector<std::string> arguments = Arguments("piqa", "data", Script());
  arguments.back() = folder_ / "file/out";
  EXPECT_EQ(RunProgram(arguments).status, 2);
}
TEST_F(RunErrors, RequestWithoutAnswerKeepsTheRunResumable) {
  WriteText(folder_ / "script.jsonl", "");
  const Outcome outcome = RunProgram(Arguments("piqa", "data", Script()));
  EXPECT_EQ(outcome.status, 4);
  EXPECT_FALSE(fs::exists(folder_ / "out/results.json"));
}
TEST_F(RunErrors, LimitAndSampleExcludeEachOther) {
  std::vector<std::string> arguments = Arguments("piqa", "data", Script());
  arguments.insert(arguments.end(), {"--limit", "2", "--sample", "2"});
  Expect(arguments, 2, "--");
}

}  // namespace
}  // namespace natsl::cli
