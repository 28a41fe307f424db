// Counting tokens for tasks that are built to a length, by something that only they need.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace natsl::cli {

/// Counts by `count`, after `open` has run once: at the first call, whichever thread it comes from.
/// Documents are made by several threads at a time, each of which counts. What `open` throws
/// reaches the caller, and the next call opens again.
std::function<int64_t(const std::string&)> OpenThenCount(
    std::function<void()> open, std::function<int64_t(const std::string&)> count);

}  // namespace natsl::cli
