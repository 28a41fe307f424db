// The command line: verbs, exit statuses, one line for an error.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace natsl::cli {

/// Exit status of a run that was stopped by a signal and can go on (128 + SIGINT).
inline constexpr int kStopped = 130;

/// What verbs share. Lives as long as the command line is parsed and run.
struct Context {
  int status = 0;                      ///< exit status where no Error is thrown
  std::vector<std::string> arguments;  ///< after the settings file was put in
  std::set<std::string> from_file;     ///< option names that the settings file gave
};

/// Runs the program on argv without the program's name; returns the exit status.
int RunMain(const std::vector<std::string>& arguments);

/// "0.1.0".
const char* ProgramVersion();
/// What the program is built of, by name: for reports.
std::vector<std::pair<std::string, std::string>> ProgramVersions();

}  // namespace natsl::cli
