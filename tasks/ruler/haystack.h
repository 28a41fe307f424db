// The essay haystack of RULER: words of a text, and sentences by a simple splitter.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace natsl::tasks::ruler {

/// White space runs become single spaces; split on single spaces.
std::vector<std::string> EssayWords(std::string_view text);

/// Breaks after '.', '?' or '!' that is followed by one space, which is dropped; empty sentences
/// are skipped (specs/ruler.md §15, splitter S0).
std::vector<std::string> SplitSentences(std::string_view text);

struct Essay {
  std::vector<std::string> words;
  std::string sha256;
  std::string source;  ///< for reports: the path
};

/// A UTF-8 text file, the reference's JSON with a "text" field, or a folder of .txt files (sorted
/// by name, joined by a space).
Essay LoadEssay(const std::filesystem::path& path);

}  // namespace natsl::tasks::ruler
