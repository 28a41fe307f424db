// The verbs and their options as plain data, read from the tables that parse the command line: what
// manual page and completions are written from, so that they can't say anything else.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace natsl::cli {

struct CommandOption {
  std::vector<std::string> names;  ///< "-h", "--help"; one name without dashes: a positional
  std::string description;
  std::string type;  ///< "TEXT", "INT:from 1", ...; "" for a flag
  std::string default_value;
  std::vector<std::string> choices;  ///< where only these values are taken
  bool required = false;
  bool repeated = false;  ///< takes any number of values
  bool positional = false;
  bool flag = false;
};

struct Command {
  std::string name;  ///< "verify"
  std::string call;  ///< "natsl-bench data verify"
  std::string description;
  std::string footer;  ///< "" where it is the parent's
  std::vector<CommandOption> options;
  std::vector<Command> verbs;
};

/// The program's table, from its root. `--settings`, which every verb takes before it is parsed, is
/// an option of the root.
Command ReadCommands(const CLI::App& root);

/// Every command of the tree, parents first.
std::vector<const Command*> AllCommands(const Command& root);

}  // namespace natsl::cli
