// Helpers of the fuzzed functions: inputs of several parts, and inputs that must be files.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace natsl::fuzz {

/// The line between the parts of an input.
inline constexpr std::string_view kSeparator = "\n%%%%\n";

/// At least `least` parts; those that the input doesn't have are empty.
std::vector<std::string_view> Parts(std::string_view input, size_t least);

/// A folder of this process for files, below TMPDIR.
const std::filesystem::path& ScratchFolder();
/// Writes `bytes` as ScratchFolder()/name and tells the path.
std::filesystem::path ScratchFile(const std::string& name, std::string_view bytes);

/// Runs `read`; an Error that it throws is an answer like any other.
template <typename Read>
void Refusable(const Read& read) {
  try {
    read();
  } catch (const Error&) {
  }
}

}  // namespace natsl::fuzz
