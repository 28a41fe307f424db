// Options of a verb as settings with their origin, and options from a file.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "reports/run_record.h"

namespace CLI {
class App;
}

namespace natsl::cli {

/// Takes `--settings FILE` out of the arguments and puts in the options that the file (a JSON
/// object of option names and values) gives and the command line doesn't. Their names go to
/// `from_file`. Throws Error (usage).
std::vector<std::string> ExpandSettingsFile(const std::vector<std::string>& arguments,
                                            std::set<std::string>& from_file);

/// Every option of `app` but help and `excluded`, in order, with its effective value.
std::vector<reports::Setting> CollectSettings(const CLI::App& app,
                                              const std::set<std::string>& from_file,
                                              const std::set<std::string>& excluded);

}  // namespace natsl::cli
