// Where the program's modules are: shared objects that are loaded only when they are needed.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace natsl::core {

/// The folder of this program's file.
std::filesystem::path ProgramFolder();

/// The folders that a module may be in, in order: beside the program (a build), and
/// ../lib/natsl-bench from there (an installation).
std::vector<std::filesystem::path> ModuleFolders();

/// The module's file in the first of ModuleFolders that has it; empty where none has.
std::filesystem::path FindModule(const std::string& file);

}  // namespace natsl::core
