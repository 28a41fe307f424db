// Runs every command of the pages for users, in order, in a folder with the repository's samples;
// and checks that the pages lead to one another.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <set>

#include "tests/cli/program.h"
#include "tests/docs/page.h"

namespace natsl::docs {
namespace {

namespace fs = std::filesystem;

const fs::path kSource = NATSL_SOURCE_DIR;

std::vector<std::string> Pages() {
  std::vector<std::string> pages = {"README.md"};
  for (const auto& entry : fs::directory_iterator(kSource / "docs")) {
    if (entry.path().extension() == ".md") {
      pages.push_back("docs/" + entry.path().filename().string());
    }
  }
  std::sort(pages.begin(), pages.end());
  return pages;
}

/// A folder as a reader has it after building: samples of its own to write beside, and the rest of
/// the checkout.
void MakeWorkplace(const fs::path& folder) {
  fs::create_directories(folder);
  fs::copy(kSource / "samples", folder / "samples", fs::copy_options::recursive);
  for (const char* name :
       {"docs", "examples", "scripts", "data_manifests", "checkpoints", "training"}) {
    fs::create_directory_symlink(kSource / name, folder / name);
  }
  fs::create_directories(folder / "build" / "release");
  fs::create_directory_symlink(NATSL_BINARY_DIR, folder / "build" / "release" / "bin");
}

/// The exit status of bash on the block; what it said goes to `log`.
int RunBlock(const Block& block, const fs::path& folder, const fs::path& log) {
  const fs::path script = folder.string() + ".sh";
  cli::WriteText(script, "set -eo pipefail\n" + block.text);
  const std::string command =
      fmt::format("cd '{}' && PATH='{}':\"$PATH\" timeout 300 bash '{}' >'{}' 2>&1 </dev/null",
                  folder.string(), NATSL_BINARY_DIR, script.string(), log.string());
  const int status = std::system(command.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

class DocsTest : public testing::TestWithParam<std::string> {};

TEST_P(DocsTest, EveryCommandRuns) {
  const Page page = ReadPage(kSource / GetParam());
  for (const std::string& problem : page.problems) ADD_FAILURE() << GetParam() << ":" << problem;
  const cli::TestFolder folder;
  const fs::path workplace = folder.path() / "work";
  MakeWorkplace(workplace);
  int64_t run = 0, left = 0;
  for (const Block& block : page.blocks) {
    const std::string where = fmt::format("{}:{}", GetParam(), block.line);
    if (!block.not_run.empty()) {
      ++left;
      fmt::print("not run ({}): {}: {}\n", block.not_run, where,
                 block.text.substr(0, block.text.find('\n')));
      continue;
    }
    ++run;
    const int status = RunBlock(block, workplace, folder.path() / "log");
    ASSERT_THAT(block.exit_statuses, testing::Contains(status))
        << where << ":\n"
        << block.text << "said:\n"
        << cli::ReadText(folder.path() / "log");
  }
  fmt::print("{}: {} blocks run, {} not\n", GetParam(), run, left);
}

INSTANTIATE_TEST_SUITE_P(Pages, DocsTest, testing::ValuesIn(Pages()), [](const auto& info) {
  std::string name = fs::path(info.param).stem().string();
  if (!info.param.starts_with("docs/")) name = "top_" + name;
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name;
});

TEST(DocsLinks, LeadToFilesAndTheIndexNamesEveryPage) {
  for (const std::string& name : Pages()) {
    const Page page = ReadPage(kSource / name);
    for (const std::string& link : page.links) {
      EXPECT_TRUE(fs::exists(kSource / fs::path(name).parent_path() / link))
          << name << ": " << link;
    }
  }
  const Page index = ReadPage(kSource / "docs" / "README.md");
  const std::set<std::string> named(index.links.begin(), index.links.end());
  for (const std::string& name : Pages()) {
    if (!name.starts_with("docs/") || name == "docs/README.md") continue;
    EXPECT_TRUE(named.contains(name.substr(5))) << "docs/README.md doesn't name " << name;
  }
}

TEST(DocsPage, ReadsBlocksAndMarks) {
  const cli::TestFolder folder;
  cli::WriteText(folder / "page.md",
                 "[a](b.md#c) [d](https://e.org/f)\n"
                 "```sh\none\n\ntwo \\\n  three\n```\n"
                 "```bash exit=3\nfails\n```\n"
                 "```sh norun=gpu needs an H200\nmpirun x\n```\n"
                 "```json\n{\"natsl-bench\": 1}\n```\n");
  const Page page = ReadPage(folder / "page.md");
  EXPECT_TRUE(page.problems.empty());
  ASSERT_EQ(page.blocks.size(), 3U);
  EXPECT_EQ(page.blocks[0].text, "one\n\ntwo \\\n  three\n");
  EXPECT_EQ(page.blocks[0].line, 3);
  EXPECT_EQ(page.blocks[1].exit_statuses, std::vector<int>{3});
  EXPECT_EQ(page.blocks[2].not_run, "gpu");
  EXPECT_EQ(page.links, std::vector<std::string>{"b.md"});
}

TEST(DocsPage, RefusesWhatWouldNotBeRun) {
  const cli::TestFolder folder;
  const auto problems = [&](const std::string& text) {
    cli::WriteText(folder / "page.md", text);
    return ReadPage(folder / "page.md").problems;
  };
  EXPECT_EQ(problems("```\nnatsl-bench run\n```\n").size(), 1U);
  EXPECT_EQ(problems("    natsl-bench run\n").size(), 1U);
  EXPECT_EQ(problems("```sh norun=lazy\nx\n```\n").size(), 1U);
  EXPECT_EQ(problems("```sh exit=x\nx\n```\n").size(), 1U);
  EXPECT_EQ(problems("```sh often\nx\n```\n").size(), 1U);
  EXPECT_EQ(problems("```sh exit=1\nx\ny\n```\n").size(), 1U);
  EXPECT_EQ(problems("```sh\nx\n").size(), 1U);
}

TEST(DocsPage, AFailingCommandAndTheWrongStatusAreSeen) {
  const cli::TestFolder folder;
  const fs::path work = folder.path() / "work";
  fs::create_directories(work);
  const auto status = [&](const std::string& text) {
    Block block;
    block.text = text;
    return RunBlock(block, work, folder.path() / "log");
  };
  EXPECT_EQ(status("true\n"), 0);
  EXPECT_EQ(status("false\ntrue\n"), 1);
  EXPECT_EQ(status("false | true\n"), 1);
  EXPECT_EQ(status("exit 7\n"), 7);
  EXPECT_EQ(status("natsl-bench --vers\n"), 2);
}

}  // namespace
}  // namespace natsl::docs
