// Similarity of code lines.
#include "tasks/metrics/code_similarity.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/utf8.h"
#include "tasks/metrics/python_text.h"

namespace natsl::tasks::metrics {
namespace {

/// difflib's SequenceMatcher: number of characters in its matching blocks.
class BlockMatcher {
 public:
  BlockMatcher(const std::u32string& a, const std::u32string& b) : a_(a), b_(b), runs_(b.size() + 1), next_(b.size() + 1) {
    for (size_t j = 0; j < b.size(); ++j) positions_[b[j]].push_back(j);
    if (b.size() >= 200) {
      const size_t popular = b.size() / 100 + 1;
      std::erase_if(positions_, [&](const auto& entry) { return entry.second.size() > popular; });
    }
  }

  int64_t MatchedCharacters() {
    std::vector<Range> ranges = {{0, a_.size(), 0, b_.size()}};
    int64_t matched = 0;
    while (!ranges.empty()) {
      const Range range = ranges.back();
      ranges.pop_back();
      const Block block = Longest(range);
      if (block.size == 0) continue;
      matched += static_cast<int64_t>(block.size);
      ranges.push_back({range.a_low, block.a, range.b_low, block.b});
      ranges.push_back({block.a + block.size, range.a_high, block.b + block.size, range.b_high});
    }
    return matched;
  }

 private:
  struct Range {
    size_t a_low, a_high, b_low, b_high;
  };
  struct Block {
    size_t a, b, size;
  };

  Block Longest(const Range& range) {
    Block best{range.a_low, range.b_low, 0};
    const std::vector<size_t>* previous = nullptr;  // the places whose runs_ are set
    for (size_t i = range.a_low; i < range.a_high; ++i) {
      const auto found = positions_.find(a_[i]);
      const std::vector<size_t>* places = found == positions_.end() ? nullptr : &found->second;
      if (places != nullptr) {
        for (auto j = std::lower_bound(places->begin(), places->end(), range.b_low);
             j != places->end() && *j < range.b_high; ++j) {
          const size_t length = runs_[*j] + 1;
          next_[*j + 1] = length;
          if (length > best.size) best = {i + 1 - length, *j + 1 - length, length};
        }
      }
      Clear(previous, runs_);
      std::swap(runs_, next_);
      previous = places;
    }
    Clear(previous, runs_);
    while (best.a > range.a_low && best.b > range.b_low && a_[best.a - 1] == b_[best.b - 1]) {
      --best.a;
      --best.b;
      ++best.size;
    }
    while (best.a + best.size < range.a_high && best.b + best.size < range.b_high &&
           a_[best.a + best.size] == b_[best.b + best.size]) {
      ++best.size;
    }
    return best;
  }

  static void Clear(const std::vector<size_t>* places, std::vector<size_t>& runs) {
    if (places == nullptr) return;
    for (const size_t j : *places) runs[j + 1] = 0;
  }

  const std::u32string& a_;
  const std::u32string& b_;
  // One past an end in b → length of the run that ends there, for this and the next place in a.
  std::vector<size_t> runs_, next_;
  std::unordered_map<char32_t, std::vector<size_t>> positions_;
};

int64_t LongestCommonSubsequence(const std::u32string& a, const std::u32string& b) {
  std::vector<int64_t> row(b.size() + 1);
  for (const char32_t c : a) {
    int64_t diagonal = 0;
    for (size_t j = 1; j <= b.size(); ++j) {
      const int64_t above = row[j];
      row[j] = b[j - 1] == c ? diagonal + 1 : std::max(above, row[j - 1]);
      diagonal = above;
    }
  }
  return row[b.size()];
}

bool IsCode(std::string_view line) {
  return line.find('`') == std::string_view::npos && line.find('#') == std::string_view::npos &&
         line.find("//") == std::string_view::npos;
}

}  // namespace

int SimilarityRatio(std::string_view a, std::string_view b, SimilarityEngine engine) {
  if (a == b) return 100;
  if (a.empty() || b.empty()) return 0;
  const std::u32string left = core::DecodeUtf8(a), right = core::DecodeUtf8(b);
  const auto length = static_cast<double>(left.size() + right.size());
  double ratio = 0;
  if (engine == SimilarityEngine::kDifflib) {
    ratio = 2.0 * static_cast<double>(BlockMatcher(left, right).MatchedCharacters()) / length;
  } else {
    // The distance by insertions and deletions, in the order of operations of that package.
    const auto common = static_cast<double>(LongestCommonSubsequence(left, right));
    ratio = 1.0 - (length - 2 * common) / length;
  }
  return static_cast<int>(std::nearbyint(100 * ratio));
}

double LongBenchCodeSimilarity(std::string_view prediction, std::string_view reference,
                               SimilarityEngine engine) {
  prediction.remove_prefix(std::min(prediction.find_first_not_of('\n'), prediction.size()));
  for (const std::string& line : SplitOn(prediction, '\n')) {
    if (IsCode(line)) return SimilarityRatio(line, reference, engine) / 100.0;
  }
  return SimilarityRatio("", reference, engine) / 100.0;
}

double HarnessCodeSimilarity(std::string_view prediction, std::string_view reference) {
  for (const std::string& line : SplitOn(prediction, '\n')) {
    if (core::PythonStrip(line).empty() || !IsCode(line)) continue;
    return SimilarityRatio(line, reference, SimilarityEngine::kDifflib) / 100.0;
  }
  return SimilarityRatio("", reference, SimilarityEngine::kDifflib) / 100.0;
}

}  // namespace natsl::tasks::metrics
