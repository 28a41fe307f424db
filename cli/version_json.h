// What `natsl-bench --version --json` prints. docs/installing.md documents its fields.
#pragma once

#include <string>

namespace natsl::cli {

/// One JSON object, indented.
std::string VersionJson();

}  // namespace natsl::cli
