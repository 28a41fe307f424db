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
TEST_F(RunErrors, LimitAndSampleExcludeEachOther) {
  std::vector<std::string> arguments = Arguments("piqa", "data", Script());
  arguments.insert(arguments.end(), {"--limit", "2", "--sample", "2"});
  Expect(arguments, 2, "--");
}

TEST_F(RunErrors, FailureBeforeAnAnswerLeavesNothing) {
  Expect(Arguments("piqa", "data", Script()), 4, "script");
}
TEST_F(RunErrors, TaskIsNamedOnce) {
  std::vector<std::string> arguments = Arguments("piqa", "data", Script());
  arguments.insert(arguments.end(), {"--num-fewshot", "3", "--fewshot-from", "first:2"});
  const Outcome outcome = RunProgram(arguments);
  EXPECT_EQ(outcome.status, 3);
  EXPECT_EQ(outcome.err.find("task piqa:"), outcome.err.rfind("task piqa:")) << outcome.err;
}
// A link to itself can't be looked at, as a file below a locked folder can't, root or not.
TEST_F(RunErrors, WhatCantBeLookedAt) {
  const fs::path loop = folder_.path() / "model/tokenizer.json";
  fs::create_directories(loop.parent_path());
  fs::create_symlink(loop, loop);
  Expect(Arguments("piqa", "data", folder_ / "model"), 4, loop.string());
  fs::remove(loop);
  WriteText(loop, "{}");
  const fs::path config = folder_.path() / "model/tokenizer_config.json";
  fs::create_symlink(config, config);
  Expect(Arguments("piqa", "data", folder_ / "model"), 4, config.string());
  std::vector<std::string> arguments = Arguments("piqa", "data", Script());
  arguments.insert(arguments.end(), {"--num-fewshot", "1", "--fewshot-from", config.string()});
  Expect(arguments, 3, "task piqa: " + config.string());
}
// Names of another time: records are UTF-8, which such a name can't stand in.
TEST_F(RunErrors, ArgumentsAreUtf8) {
  std::vector<std::string> arguments = Arguments("piqa", "data", Script());
  arguments.back() = folder_ / "caf\xe9";
  Expect(arguments, 2, "caf\xEF\xBF\xBD\" isn't UTF-8");
  EXPECT_FALSE(fs::exists(arguments.back()));
  Expect(Arguments("piqa", "data", "mod\xc3\x28"), 2, "isn't UTF-8");
}
TEST_F(RunErrors, ModelIsAFile) {
  WriteText(folder_ / "weights", "x");
  Expect(Arguments("piqa", "data", folder_ / "weights"), 4, "is a file, expected a checkpoint");
}

// Numbers that CLI11 alone clamps, wraps or lets through, and the one line that refuses each.
TEST(CommandLine, NumbersOutOfRange) {
  const std::vector<std::string> run = {"run", "--model", "m", "--tasks", "piqa", "--data", "d"};
  const std::vector<std::string> check = {"check", "--model", "m"};
  const std::vector<std::string> compare = {"compare", "a", "b"};
  struct Case {
    const std::vector<std::string>& verb;
    const char *option, *value, *expected;
  };
  const std::vector<std::string> inspect = {"inspect", "model", "--model", "m"};
  const Case cases[] = {
      {run, "--limit", "0", "a whole number of at least 1"},
      {run, "--limit", "92233720368547758070", "a whole number of at least 1"},
      {run, "--limit", "2x", "a whole number of at least 1"},
      {run, "--sample", "-1", "a whole number of at least 1"},
      {run, "--seed", "-1", "a whole number from 0 to 18446744073709551615"},
      {run, "--seed", "18446744073709551616", "a whole number from 0 to 18446744073709551615"},
      {run, "--random-weights", "-1", "a whole number from 0"},
      {run, "--threads", "-1", "a whole number from 0 to 4096"},
      {run, "--num-fewshot", "10001", "a whole number from 0 to 10000"},
      {check, "--bound", "nan", "a finite number above 0"},
      {check, "--bound", "0", "a finite number above 0"},
      {check, "--seed", "-1", "a whole number from 0"},
      {compare, "--confidence", "nan", "a finite number from 0.5 to 0.9999"},
      {compare, "--margin", "inf", "a finite number of at least 0"},
      {compare, "--margin", "nan", "a finite number of at least 0"},
      {inspect, "--softmax-share", "nan", "a finite number from 0 to 1"},
  };
  for (const Case& c : cases) {
    std::vector<std::string> arguments = c.verb;
    arguments.insert(arguments.end(), {c.option, c.value});
    const Outcome outcome = RunProgram(arguments);
    EXPECT_EQ(outcome.status, 2) << c.option << " " << c.value;
    const std::string part = std::string(c.option) + ": " + c.value + " is not " + c.expected;
    EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  }
}

TEST(CommandLine, DevicesThatThisBuildLacks) {
  const std::string model = NATSL_SOURCE_DIR "/samples/models/tiny-transformer";
  const Outcome outcome = RunProgram({"check", "--model", model, "--device", "cudax"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_NE(outcome.err.find("expected cpu, cuda or cuda:N"), std::string::npos) << outcome.err;
  const fs::path folder = fs::path(NATSL_BINARY_DIR);
  if (fs::exists(folder / "natsl_native_cuda.so")) GTEST_SKIP() << "this build has CUDA";
  for (const char* device : {"cuda", "cuda:1"}) {
    const Outcome cuda = RunProgram({"check", "--model", model, "--device", device});
    EXPECT_EQ(cuda.status, 2);
    EXPECT_NE(cuda.err.find("this build has no CUDA"), std::string::npos) << cuda.err;
  }
}

TEST(CommandLine, LongerThanTheMaxLength) {
  const std::string model = NATSL_SOURCE_DIR "/samples/models/tiny-transformer";
  const Outcome outcome =
      RunProgram({"check", "--model", model, "--lengths", "20", "--max-length", "10"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_NE(outcome.err.find("--max-length is 10"), std::string::npos) << outcome.err;
}

TEST(CommandLine, LogitsInputIsData) {
  const TestFolder folder;
  WriteText(folder / "ids.safetensors", "x");
  const Outcome outcome = RunProgram({"inspect", "logits", "--model", folder / "no", "--input",
                                      folder / "ids.safetensors", "--output", folder / "out"});
  EXPECT_EQ(outcome.status, 3);
  EXPECT_NE(outcome.err.find("ids.safetensors"), std::string::npos) << outcome.err;
  EXPECT_FALSE(fs::exists(folder / "out"));
}

}  // namespace
}  // namespace natsl::cli
