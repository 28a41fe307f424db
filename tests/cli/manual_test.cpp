// What is written from the option tables: manual page and completions name every verb and option
// that the verbs' own help names, and the shells take them. And `--version --json`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "core/json.h"
#include "tests/cli/program.h"

namespace natsl::cli {
namespace {

using testing::HasSubstr;

/// Options and verbs of a help text: what its lines start with.
struct HelpNames {
  std::vector<std::string> options, verbs;
};

HelpNames ReadHelp(const std::string& help) {
  HelpNames names;
  std::istringstream lines(help);
  bool verbs = false;
  const std::regex entry(R"(^  (-h,)?(-{1,2}[a-z][a-z0-9-]*|[a-z]+)( .*)?$)");
  for (std::string line; std::getline(lines, line);) {
    if (line == "Subcommands:") verbs = true;
    if (line.empty()) verbs = false;
    std::smatch match;
    if (!std::regex_match(line, match, entry)) continue;
    const std::string name = match[2];
    if (name.starts_with("-")) names.options.push_back(name);
    if (verbs) names.verbs.push_back(name);
  }
  return names;
}

/// Every command's words ("data verify"; "" the program itself) and the options of its help.
void ReadTree(const std::string& words, std::map<std::string, std::vector<std::string>>& tree) {
  std::vector<std::string> arguments;
  std::istringstream split(words);
  for (std::string word; split >> word;) arguments.push_back(word);
  arguments.emplace_back("--help");
  const Outcome help = RunProgram(arguments);
  ASSERT_EQ(help.status, 0) << words;
  const HelpNames names = ReadHelp(help.out);
  tree[words] = names.options;
  for (const std::string& verb : names.verbs) {
    ReadTree(words.empty() ? verb : words + " " + verb, tree);
  }
}

const std::map<std::string, std::vector<std::string>>& Tree() {
  static const auto tree = [] {
    std::map<std::string, std::vector<std::string>> read;
    ReadTree("", read);
    return read;
  }();
  return tree;
}

bool Has(const std::string& program) {
  return std::system(("command -v " + program + " >/dev/null 2>&1").c_str()) == 0;
}

/// What a shell says to a script; stderr included.
std::string Said(const std::string& shell, const std::string& script) {
  const TestFolder folder;
  WriteText(folder / "script", script);
  const std::string command = "PATH='" NATSL_BINARY_DIR "':\"$PATH\" " + shell + " '" +
                              (folder / "script") + "' >'" + (folder / "out") + "' 2>&1";
  const int status = std::system(command.c_str());
  return ReadText(folder / "out") + (status == 0 ? "" : "\nstatus " + std::to_string(status));
}

TEST(Manual, TheTreeIsReadWhole) {
  EXPECT_GE(Tree().size(), 20U);
  EXPECT_TRUE(Tree().contains("data verify"));
  EXPECT_THAT(Tree().at("run"), testing::Contains("--batch-tokens"));
}

TEST(Manual, PageHasEveryVerbAndOption) {
  const Outcome page = RunProgram({"help", "--man"});
  ASSERT_EQ(page.status, 0);
  std::map<std::string, std::string> sections;
  std::istringstream lines(page.out);
  std::string section;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(".SH ")) section = line.substr(4);
    sections[section] += line + "\n";
  }
  for (const auto& [words, options] : Tree()) {
    std::string name = words;
    for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    name = words.empty() ? "OPTIONS" : "\"" + name + "\"";
    if (!sections.contains(name)) {
      // A verb of verbs has no page of its own: theirs stand for it.
      EXPECT_TRUE(Tree().lower_bound(words + " ")->first.starts_with(words + " ")) << name;
      continue;
    }
    for (const std::string& option : options) {
      const std::string roff = std::regex_replace(option, std::regex("-"), "\\-");
      EXPECT_THAT(sections[name], HasSubstr("\\fB" + roff + "\\fR")) << words;
    }
  }
}

TEST(Manual, PageHasNoWarnings) {
  if (!Has("groff")) GTEST_SKIP() << "no groff here";
  EXPECT_EQ(Said("bash", "natsl-bench help --man | groff -man -ww -b -z -Tutf8"), "");
}

TEST(Completion, ScriptsHaveEveryVerbAndOption) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const Outcome script = RunProgram({"completion", shell});
    ASSERT_EQ(script.status, 0);
    for (const auto& [words, options] : Tree()) {
      const std::string call = words.empty() ? "natsl-bench" : "natsl-bench " + words;
      EXPECT_THAT(script.out, HasSubstr(call)) << shell;
      for (const std::string& option : options) {
        const std::string name = std::string(shell) != "fish" ? option
                                 : option.starts_with("--")   ? "-l " + option.substr(2)
                                                              : "-s " + option.substr(1);
        EXPECT_THAT(script.out, HasSubstr(name)) << shell << " " << words;
      }
    }
  }
  EXPECT_EQ(RunProgram({"completion", "tcsh"}).status, 2);
}

/// What bash offers for the last of the words.
std::string BashOffers(const std::vector<std::string>& words) {
  std::string script = "source <(natsl-bench completion bash)\nCOMP_WORDS=(natsl-bench";
  for (const std::string& word : words) script += " '" + word + "'";
  script += ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_natsl_bench\necho \"${COMPREPLY[*]}\"\n";
  return Said("bash", script);
}

TEST(Completion, BashOffersWhatIsTaken) {
  EXPECT_EQ(BashOffers({"insp"}), "inspect\n");
  EXPECT_EQ(BashOffers({"data", "ver"}), "verify\n");
  EXPECT_EQ(BashOffers({"run", "--num-f"}), "--num-fewshot\n");
  EXPECT_EQ(BashOffers({"run", "--dtype", ""}), "float32 bfloat16\n");
  EXPECT_EQ(BashOffers({"run", "--dtype", "b"}), "bfloat16\n");
  EXPECT_EQ(BashOffers({"run", "--dtype", "=", "b"}), "bfloat16\n");
  EXPECT_EQ(BashOffers({"completion", "f"}), "fish\n");
  // The name of a verb as an option's value doesn't change the verb for what follows.
  EXPECT_EQ(BashOffers({"run", "--model", NATSL_SOURCE_DIR "/sampl"}),
            NATSL_SOURCE_DIR "/samples\n");
}

TEST(Completion, ZshTakesTheScript) {
  if (!Has("zsh")) GTEST_SKIP() << "no zsh here";
  EXPECT_EQ(Said("zsh -f",
                 "autoload -U compinit && compinit -u -D\n"
                 "source <(natsl-bench completion zsh)\n"
                 "print $_comps[natsl-bench]\n"),
            "_natsl_bench\n");
}

TEST(Completion, FishOffersWhatIsTaken) {
  if (!Has("fish")) GTEST_SKIP() << "no fish here";
  const auto offers = [](const std::string& line) {
    return Said("fish --no-config",
                "natsl-bench completion fish | source\ncomplete -C '" + line + "'");
  };
  EXPECT_THAT(offers("natsl-bench insp"), testing::StartsWith("inspect\t"));
  EXPECT_THAT(offers("natsl-bench data ver"), testing::StartsWith("verify\t"));
  EXPECT_THAT(offers("natsl-bench run --num-f"), testing::StartsWith("--num-fewshot\t"));
  EXPECT_THAT(offers("natsl-bench run --dtype b"), testing::StartsWith("bfloat16\t"));
  EXPECT_THAT(offers("natsl-bench list --num-f"), testing::Not(HasSubstr("--num-fewshot")));
}

TEST(Help, VerbsByName) {
  EXPECT_EQ(RunProgram({"help", "data", "verify"}).out,
            RunProgram({"data", "verify", "--help"}).out);
  EXPECT_EQ(RunProgram({"help"}).out, RunProgram({"--help"}).out);
  const Outcome unknown = RunProgram({"help", "rum"});
  EXPECT_EQ(unknown.status, 2);
  EXPECT_THAT(unknown.err, HasSubstr("did you mean run"));
}

TEST(Version, JsonAsDocumented) {
  const Outcome outcome = RunProgram({"--version", "--json"});
  ASSERT_EQ(outcome.status, 0);
  const core::Json json = core::Json::parse(outcome.out);
  std::vector<std::string> keys;
  for (const auto& [key, value] : json.items()) keys.push_back(key);
  EXPECT_EQ(keys, (std::vector<std::string>{"schema", "name", "version", "commit", "modified",
                                            "compiler", "build_type", "stored_answers", "libraries",
                                            "cpu", "cuda", "modules"}));
  EXPECT_EQ(json["schema"], 1);
  EXPECT_EQ(json["name"], "natsl-bench");
  EXPECT_TRUE(json["commit"].is_null() ||
              std::regex_match(json["commit"].get<std::string>(), std::regex("[0-9a-f]{40}")));
  EXPECT_TRUE(json["modified"].is_boolean());
  const std::regex version("[0-9]+(\\.[0-9]+)+.*");
  for (const auto& [name, value] : json["libraries"].items()) {
    const bool optional = name == "arrow" || name == "mpi";
    EXPECT_TRUE((optional && value.is_null()) ||
                std::regex_match(value.get<std::string>(), version))
        << name << " " << value;
  }
  EXPECT_EQ(json["libraries"].size(), 15U);
  const core::Json& cpu = json["cpu"];
  EXPECT_TRUE(cpu["model"].is_null() || cpu["model"].is_string());
  EXPECT_THAT(cpu["compiled"].get<std::vector<std::string>>(),
              testing::Contains(cpu["dispatched"].get<std::string>()));
  // A processor with AVX2 is never given less.
  const auto sets = cpu["instruction_sets"].get<std::vector<std::string>>();
  if (std::find(sets.begin(), sets.end(), "avx2") != sets.end()) {
    EXPECT_THAT(cpu["dispatched"].get<std::string>(),
                testing::AnyOf("AVX2", testing::StartsWith("AVX3")));
  }
  EXPECT_TRUE(cpu["amx"].is_boolean());
  if (!json["cuda"].is_null()) {
    EXPECT_TRUE(std::regex_match(json["cuda"]["toolkit"].get<std::string>(), version));
    EXPECT_FALSE(json["cuda"]["architectures"].empty());
  }
  EXPECT_EQ(json["modules"]["natsl_native"], NATSL_BINARY_DIR "/natsl_native.so");
  EXPECT_EQ(json["modules"].size(), 4U);
}

}  // namespace
}  // namespace natsl::cli
