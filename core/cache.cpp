// Where set-up keeps what is shared by all clones of a user.
#include "core/cache.h"

#include <cstdlib>

namespace natsl::core {

std::filesystem::path UserCacheFolder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache != '\0') return std::filesystem::path(cache) / "natsl-bench";
  const char* home = std::getenv("HOME");
  return std::filesystem::path(home == nullptr ? "." : home) / ".cache" / "natsl-bench";
}

}  // namespace natsl::core
