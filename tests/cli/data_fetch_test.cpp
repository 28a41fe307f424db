// `data fetch` through the command line: from a server of our own, killed and run again, and every
// command of docs/data.md.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <thread>

#include "core/hash.h"
#include "core/json.h"
#include "tests/cli/program.h"
#include "tests/fetch/support.h"

namespace natsl::cli {
namespace {

namespace fs = std::filesystem;
using fetch::FileServer;
using model_adapters::RawAnswer;
using model_adapters::SeenRequest;
using ::testing::HasSubstr;
using ::testing::Not;

/// A table without the spaces that align it.
std::string Squeezed(std::string table) {
  std::erase(table, ' ');
  return table;
}

class DataFetchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    // Neither a token nor a cache of whoever runs this.
    ::setenv("HOME", folder_.path().c_str(), 1);
    for (const char* name : {"HF_TOKEN", "HF_TOKEN_PATH", "HF_HOME", "HF_HUB_CACHE"}) {
      ::unsetenv(name);
    }
  }
  /// A manifest of one file at the server.
  std::string Manifest(const std::string& sha256) {
    core::Json manifest = core::Json::parse(R"({"schema": 1, "name": "toy", "title": "Toy",
        "home": "here", "hub": null, "revision": null, "licence": "none", "tasks": [],
        "layout": "text", "fields": {"text": "string"}})");
    core::Json file = {{"path", "toy/a.txt"},
                       {"split", "test"},
                       {"bytes", nullptr},
                       {"sha256", nullptr},
                       {"rows", nullptr}};
    if (!sha256.empty()) file["sha256"] = sha256;
    file["sources"] = core::Json::array({{{"url", server_.url() + "/a.txt"}}});
    manifest["files"] = core::Json::array({file});
    WriteText(folder_ / "toy.json", manifest.dump());
    return folder_ / "toy.json";
  }
  std::vector<std::string> Arguments(const std::string& manifest) const {
    return {"data", "fetch", "--manifest", manifest, "--data", folder_ / "data"};
  }

  TestFolder folder_;
  FileServer server_;
  const std::string content_ = fetch::Text(300'000);
};

TEST_F(DataFetchTest, FetchesLocksAndVerifies) {
  server_.On("/a.txt", [&](const SeenRequest& r, int) { return fetch::Serve(r, content_); });
  const Outcome outcome = RunProgram(Arguments(Manifest("")));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(Squeezed(outcome.out), HasSubstr("|toy|toy/a.txt|fetched|"));
  EXPECT_THAT(outcome.err, HasSubstr("fetch: 1/1 files, 300.0 kB"));
  EXPECT_EQ(ReadText(folder_ / "data/toy/a.txt"), content_);
  EXPECT_THAT(ReadText(folder_ / "data/data.lock"), HasSubstr(core::Sha256Hex(content_)));
  fs::remove(folder_ / "data/toy/a.txt");
  server_.On("/a.txt", [](const SeenRequest& r, int) { return fetch::Serve(r, "other"); });
  const Outcome changed = RunProgram(Arguments(Manifest("")));
  EXPECT_EQ(changed.status, 3);
  EXPECT_THAT(changed.out, HasSubstr(core::Sha256Hex(content_)));
  EXPECT_THAT(changed.out, HasSubstr(core::Sha256Hex("other")));
}

TEST_F(DataFetchTest, VerifyReadsTheLock) {
  const std::string labels = "0\n1\n";
  WriteText(folder_ / "data/piqa/valid-labels.lst", labels);
  WriteText(folder_ / "data/data.lock",
            R"({"schema": 1, "files": [{"name": "piqa", "file": "piqa/valid-labels.lst", "bytes": 4,
                "sha256": ")" +
                core::Sha256Hex(labels) + R"(", "url": "https://x", "date": "2025-01-02"}]})");
  const Outcome right = RunProgram({"data", "verify", "--data", folder_ / "data"});
  EXPECT_EQ(right.status, 0) << right.err;
  EXPECT_THAT(Squeezed(right.out), HasSubstr("|piqa|piqa/valid-labels.lst|right|"));
  EXPECT_THAT(right.out, HasSubstr("(locked on 2025-01-02)"));
  WriteText(folder_ / "data/piqa/valid-labels.lst", "1\n0\n");
  const Outcome wrong = RunProgram({"data", "verify", "--data", folder_ / "data"});
  EXPECT_EQ(wrong.status, 3);
  EXPECT_THAT(wrong.out, HasSubstr("wrong hash"));
  EXPECT_THAT(wrong.out, HasSubstr(core::Sha256Hex(labels)));
}

TEST_F(DataFetchTest, AKilledFetchGoesOnWhereItWas) {
  server_.On("/a.txt", [&](const SeenRequest& r, int before) {
    RawAnswer answer = fetch::Serve(r, content_);
    if (before == 0) {
      answer.bytes.resize(answer.bytes.size() - 100'000);
      answer.hang = true;
    }
    return answer;
  });
  const std::vector<std::string> arguments = Arguments(Manifest(core::Sha256Hex(content_)));
  {
    const BackgroundProgram program(arguments);
    std::error_code error;
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (fs::file_size(folder_ / "data/toy/.part-a.txt", error) != 200'000) {
      ASSERT_LT(std::chrono::steady_clock::now(), until) << "the first 200000 bytes never came";
      std::this_thread::yield();
    }
    program.Signal(SIGKILL);
  }
  const Outcome again = RunProgram(arguments);
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_EQ(ReadText(folder_ / "data/toy/a.txt"), content_);
  ASSERT_EQ(server_.seen().size(), 2U);
  EXPECT_EQ(server_.seen()[1].headers.at("range"), "bytes=200000-");
  EXPECT_EQ(RunProgram(arguments).status, 0);
  EXPECT_EQ(server_.seen().size(), 2U);
}

TEST_F(DataFetchTest, AStoppedFetchSaysHowToGoOn) {
  server_.On("/a.txt", [&](const SeenRequest& r, int) {
    RawAnswer answer = fetch::Serve(r, content_);
    answer.bytes.resize(answer.bytes.size() - 100'000);
    answer.hang = true;
    return answer;
  });
  BackgroundProgram program(Arguments(Manifest("")), {}, folder_ / "err");
  std::error_code error;
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (fs::file_size(folder_ / "data/toy/.part-a.txt", error) != 200'000) {
    ASSERT_LT(std::chrono::steady_clock::now(), until);
    std::this_thread::yield();
  }
  program.Signal(SIGINT);
  EXPECT_EQ(program.Wait(), 130);
  EXPECT_THAT(ReadText(folder_ / "err"), HasSubstr("run the same command again"));
}

TEST_F(DataFetchTest, TheTokenIsNowhereToBeSeen) {
  ::setenv("HF_TOKEN", "hf_very_secret", 1);
  server_.On("/datasets/org/toy/resolve/main/a.txt",
             [](const SeenRequest&, int) { return model_adapters::Reply(401, "hf_very_secret"); });
  core::Json manifest = core::Json::parse(ReadText(Manifest("")));
  manifest["hub"] = "org/toy";
  manifest["files"][0]["sources"] = core::Json::array({{{"hub_path", "a.txt"}}});
  WriteText(folder_ / "toy.json", manifest.dump());
  std::vector<std::string> arguments = Arguments(folder_ / "toy.json");
  arguments.insert(arguments.end(), {"--hub", server_.url()});
  const Outcome outcome = RunProgram(arguments);
  EXPECT_EQ(outcome.status, 3);
  EXPECT_THAT(outcome.out, HasSubstr("HTTP 401"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("hf_very_secret")));
  EXPECT_THAT(outcome.err, Not(HasSubstr("hf_very_secret")));
  EXPECT_EQ(server_.seen().at(0).headers.at("authorization"), "Bearer hf_very_secret");
}

TEST_F(DataFetchTest, WrongCommandLines) {
  EXPECT_EQ(RunProgram({"data", "fetch", "--data", folder_ / "data"}).status, 2);
  EXPECT_EQ(RunProgram({"data", "fetch", "pica", "--data", folder_ / "data"}).status, 2);
  EXPECT_EQ(RunProgram({"data", "fetch", "piqa"}).status, 2);
  EXPECT_EQ(
      RunProgram({"data", "fetch", "piqa", "--data", folder_ / "data", "--mirror", "ftp://mirror"})
          .status,
      2);
  EXPECT_EQ(RunProgram({"data", "fetch", "piqa", "--data", folder_ / "data", "--jobs", "0"}).status,
            2);
  EXPECT_FALSE(fs::exists(folder_ / "data"));
}

/// The commands of a page's ```sh blocks, those too that a test without a server leaves out.
std::vector<std::string> CommandsOf(const std::string& page) {
  std::vector<std::string> commands;
  bool inside = false;
  std::istringstream lines(ReadText(page));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("```")) {
      inside = line.starts_with("```sh");
    } else if (inside && line.starts_with("natsl-bench ")) {
      commands.push_back(line);
    }
  }
  return commands;
}

TEST_F(DataFetchTest, EveryCommandOfThePageRuns) {
  server_.On("/a.txt", [&](const SeenRequest& r, int) { return fetch::Serve(r, content_); });
  const std::string manifest = Manifest("");
  WriteText(folder_ / "data/piqa/valid-labels.lst", "0\n");
  const std::vector<std::string> commands =
      CommandsOf(std::string(NATSL_SOURCE_DIR) + "/docs/data.md");
  EXPECT_GE(commands.size(), 8U);
  for (const std::string& command : commands) {
    std::vector<std::string> arguments;
    std::istringstream words(command.substr(command.find(' ')));
    for (std::string word; words >> word;) {
      arguments.push_back(word == "DATA" ? folder_ / "data" : word == "MANIFEST" ? manifest : word);
    }
    // A test reaches no publisher.
    const bool publishers = command.find("data fetch ") != std::string::npos &&
                            command.find("--manifest") == std::string::npos &&
                            command.find("--dry-run") == std::string::npos;
    if (publishers) arguments.push_back("--dry-run");
    const Outcome outcome = RunProgram(arguments);
    EXPECT_EQ(outcome.status, 0) << command << "\n" << outcome.err;
    EXPECT_NE(outcome.out, "") << command;
  }
  EXPECT_EQ(ReadText(folder_ / "data/toy/a.txt"), content_);
}

}  // namespace
}  // namespace natsl::cli
