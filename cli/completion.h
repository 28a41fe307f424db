// Completions of the command line for a shell.
#pragma once

#include <string>

#include "cli/command_tree.h"

namespace natsl::cli {

/// The script that the shell ("bash", "zsh", "fish") reads.
std::string CompletionScript(const Command& root, const std::string& shell);

}  // namespace natsl::cli
