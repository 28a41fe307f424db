// Markdown, line by line.
#include "tests/docs/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <regex>
#include <sstream>

namespace natsl::docs {
namespace {

/// What a command of ours starts with: a block that isn't marked as commands must hold none.
bool LooksLikeCommand(const std::string& line) {
  static const std::regex command(
      R"(\s*(\$ )?(natsl-bench|natsl-train|build/[a-z]+/bin/|scripts/|benchmarks/|examples/|cmake |cpack|mpirun|ctest).*)");
  return std::regex_match(line, command);
}

/// Reads "sh exit=1" behind a fence into the block; what is wrong with it, or "".
std::string ReadMarks(const std::string& info, Block& block) {
  std::istringstream words(info);
  std::string word;
  words >> word;
  if (!(words >> word)) return "";
  if (word.starts_with("exit=")) {
    if (!std::regex_match(word, std::regex("exit=[0-9]{1,3}(,[0-9]{1,3})*"))) {
      return word + " is no exit status";
    }
    block.exit_statuses.clear();
    std::istringstream statuses(word.substr(5));
    for (std::string status; std::getline(statuses, status, ',');) {
      block.exit_statuses.push_back(std::stoi(status));
    }
    return "";
  }
  if (!word.starts_with("norun=")) return "\"" + word + "\" is no mark (exit=N, norun=WHY)";
  block.not_run = word.substr(6);
  const bool known =
      std::find(std::begin(kReasons), std::end(kReasons), block.not_run) != std::end(kReasons);
  return known ? "" : word + " is no known reason";
}

int64_t Commands(const std::string& text) {
  std::istringstream lines(text);
  int64_t commands = 0;
  bool goes_on = false;
  for (std::string line; std::getline(lines, line);) {
    if (!goes_on && !line.empty() && line[0] != '#') ++commands;
    goes_on = line.ends_with("\\");
  }
  return commands;
}

void FindLinks(const std::string& line, std::vector<std::string>& links) {
  static const std::regex link(R"(\]\(([^)#]+)(#[^)]*)?\))");
  for (std::sregex_iterator it(line.begin(), line.end(), link), end; it != end; ++it) {
    const std::string target = (*it)[1];
    if (target.find("://") == std::string::npos) links.push_back(target);
  }
}

}  // namespace

Page ReadPage(const std::filesystem::path& file) {
  Page page;
  std::ifstream in(file);
  std::string line;
  int64_t number = 0;
  bool inside = false, commands = false;
  Block block;
  const auto problem = [&](const std::string& what) {
    page.problems.push_back(fmt::format("{}: {}", number, what));
  };
  while (std::getline(in, line)) {
    ++number;
    if (line.starts_with("```")) {
      if (!inside) {
        const std::string info = line.substr(3);
        block = {};
        block.line = number + 1;
        commands = std::regex_match(info, std::regex("(sh|bash)( .*)?"));
        if (commands) {
          if (const std::string wrong = ReadMarks(info, block); !wrong.empty()) problem(wrong);
        }
      } else if (commands) {
        if (block.exit_statuses != std::vector<int>{0} && Commands(block.text) != 1) {
          problem("a block with exit= holds one command");
        }
        page.blocks.push_back(block);
      }
      inside = !inside;
    } else if (inside && commands) {
      block.text += line + "\n";
    } else {
      if ((inside || line.starts_with("    ")) && LooksLikeCommand(line)) {
        problem("a command outside of a ```sh block: " + line);
      }
      if (!inside) FindLinks(line, page.links);
    }
  }
  if (inside) problem("a fence that isn't closed");
  return page;
}

}  // namespace natsl::docs
