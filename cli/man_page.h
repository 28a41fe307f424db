// natsl-bench.1, in the man macros.
#pragma once

#include <string>

#include "cli/command_tree.h"

namespace natsl::cli {

std::string ManPage(const Command& root, const std::string& version);

}  // namespace natsl::cli
