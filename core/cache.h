// Where set-up keeps what is shared by all clones of a user: LibTorch, optional word tables.
#pragma once

#include <filesystem>

namespace natsl::core {

/// $XDG_CACHE_HOME/natsl-bench, else ~/.cache/natsl-bench.
std::filesystem::path UserCacheFolder();

}  // namespace natsl::core
