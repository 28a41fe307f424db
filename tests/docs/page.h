// The blocks of a Markdown page, as far as commands are concerned.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace natsl::docs {

/// A fenced block of commands: ```sh or ```bash, with "exit=N" where its one command must end so
/// ("exit=0,6" where the machine decides between these), or "norun=WHY" where it can't run
/// everywhere. More words behind the mark are for the reader.
struct Block {
  int64_t line = 0;  ///< of the first command
  std::string text;
  std::vector<int> exit_statuses = {0};
  std::string not_run;  ///< one of kReasons; "" for a block that is run
};

struct Page {
  std::vector<Block> blocks;
  std::vector<std::string> problems;  ///< "12: ...": fences that aren't closed or marked wrongly
  std::vector<std::string> links;     ///< targets of relative links, without their anchors
};

/// What a block may need that a test machine lacks: a GPU, the network, a server, the datasets'
/// published files, a model of the reader's, several machines, or minutes of building.
inline constexpr const char* kReasons[] = {"gpu",   "network", "server", "data",
                                           "model", "cluster", "build"};

Page ReadPage(const std::filesystem::path& file);

}  // namespace natsl::docs
