// RULER's word lists.
#include "tasks/ruler/words.h"

#include <algorithm>
#include <set>

#include "core/cast.h"
#include "core/files.h"
#include "core/hash.h"
#include "core/python_random.h"
#include "core/utf8.h"

namespace natsl::tasks::ruler {
namespace {

void SortUnique(std::vector<std::string>& items) {
  std::sort(items.begin(), items.end());
  items.erase(std::unique(items.begin(), items.end()), items.end());
}

/// One entry a line, white space at its end removed.
std::vector<std::string> Lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    lines.emplace_back(core::PythonRstrip(text.substr(0, end)));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return lines;
}

}  // namespace

WordKeys::WordKeys(std::vector<std::string> adjectives, std::vector<std::string> nouns)
    : nouns_(std::move(nouns)) {
  SortUnique(nouns_);
  for (std::string& adjective : adjectives) adjective += '-';
  SortUnique(adjectives);
  for (size_t i = 0; i < adjectives.size();) {
    size_t end = i + 1;
    while (end < adjectives.size() && adjectives[end].starts_with(adjectives[i])) ++end;
    Segment segment;
    segment.begin = size_;
    if (end == i + 1) {
      segment.adjective = adjectives[i];
      size_ += core::Size(nouns_);
    } else {
      for (size_t a = i; a < end; ++a) {
        for (const std::string& noun : nouns_) segment.merged.push_back(adjectives[a] + noun);
      }
      SortUnique(segment.merged);
      size_ += core::Size(segment.merged);
    }
    segments_.push_back(std::move(segment));
    i = end;
  }
}

std::string WordKeys::At(int64_t index) const {
  const auto after = std::upper_bound(
      segments_.begin(), segments_.end(), index,
      [](int64_t wanted, const Segment& segment) { return wanted < segment.begin; });
  const Segment& segment = *std::prev(after);
  const auto offset = static_cast<size_t>(index - segment.begin);
  return segment.merged.empty() ? segment.adjective + nouns_[offset] : segment.merged[offset];
}

Words MakeWords(const std::vector<std::string>& nouns, const std::vector<std::string>& adjectives,
                const std::vector<std::string>& verbs) {
  Words words{WordKeys(adjectives, nouns), nouns, ""};
  words.common.insert(words.common.end(), adjectives.begin(), adjectives.end());
  words.common.insert(words.common.end(), verbs.begin(), verbs.end());
  SortUnique(words.common);
  core::PythonRandom(42).Shuffle(words.common);
  return words;
}

Words LoadWords(const std::filesystem::path& folder) {
  core::Sha256 hash;
  const auto read = [&](const char* name) {
    const std::string text = core::ReadFile(folder / name, ErrorCode::kData);
    hash.Update(text);
    std::vector<std::string> lines = Lines(text);
    if (lines.empty()) throw DataError("{}: empty, expected words", (folder / name).string());
    return lines;
  };
  const std::vector<std::string> nouns = read("nounlist.txt");
  const std::vector<std::string> adjectives = read("adjectivelist.txt");
  const std::vector<std::string> verbs = read("verblist.txt");
  Words words = MakeWords(nouns, adjectives, verbs);
  words.sha256 = hash.Hex();
  return words;
}

}  // namespace natsl::tasks::ruler
