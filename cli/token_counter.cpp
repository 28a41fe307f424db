#include "cli/token_counter.h"

#include <memory>
#include <mutex>
#include <utility>

namespace natsl::cli {

std::function<int64_t(const std::string&)> OpenThenCount(
    std::function<void()> open, std::function<int64_t(const std::string&)> count) {
  return [once = std::make_shared<std::once_flag>(), open = std::move(open),
          count = std::move(count)](const std::string& text) {
    std::call_once(*once, open);
    return count(text);
  };
}

}  // namespace natsl::cli
