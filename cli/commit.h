// The commit that this program was built from; defined in a file that the build writes.
#pragma once

#include <string>

namespace natsl::cli {

struct Commit {
  std::string hash;       ///< "" where the source wasn't a git checkout
  bool modified = false;  ///< whether tracked files differed from it
};

Commit BuiltFrom();

}  // namespace natsl::cli
