// RULER's word lists: nouns, adjectives and verbs of wonderwords 2.2.0, the sorted list of
// adjective-noun keys, and the shuffled list of common words (specs/ruler.md §5).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace natsl::tasks::ruler {

/// The sorted set of all "adjective-noun" strings, without storing its millions of entries.
class WordKeys {
 public:
  WordKeys(std::vector<std::string> adjectives, std::vector<std::string> nouns);

  int64_t size() const { return size_; }
  std::string At(int64_t index) const;

 private:
  /// Adjectives whose keys don't interleave with others' take the nouns' order; the few that do
  /// ("well", "well-made") are merged into an explicit list.
  struct Segment {
    int64_t begin = 0;
    std::string adjective;
    std::vector<std::string> merged;
  };
  std::vector<std::string> nouns_;
  std::vector<Segment> segments_;
  int64_t size_ = 0;
};

struct Words {
  WordKeys keys;
  std::vector<std::string> common;  ///< nouns, adjectives and verbs, sorted, shuffled with seed 42
  std::string sha256;               ///< over the three files
};

/// Reads nounlist.txt, adjectivelist.txt and verblist.txt. Error (data) where one is missing or
/// empty.
Words LoadWords(const std::filesystem::path& folder);
Words MakeWords(const std::vector<std::string>& nouns, const std::vector<std::string>& adjectives,
                const std::vector<std::string>& verbs);

}  // namespace natsl::tasks::ruler
