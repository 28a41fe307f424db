// Set-based ROUGE-L.
#include "tasks/metrics/rouge.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "tasks/metrics/python_text.h"

namespace natsl::tasks::metrics {
namespace {

constexpr int64_t kMaxMoves = 990;

using WordIds = std::vector<int32_t>;

/// Words of all pieces as small integers; the same table for both sides.
class Vocabulary {
 public:
  int32_t IdOf(std::string_view word) {
    return ids_.try_emplace(std::string(word), static_cast<int32_t>(ids_.size())).first->second;
  }
  size_t size() const { return ids_.size(); }

 private:
  std::unordered_map<std::string, int32_t> ids_;
};

/// The pieces between "." (empty ones dropped, blank ones kept as one empty word).
std::vector<WordIds> Pieces(std::string_view text, Vocabulary& vocabulary) {
  std::vector<WordIds> pieces;
  for (const std::string& raw : SplitOn(text, '.')) {
    if (raw.empty()) continue;
    WordIds words;
    for (const std::string& word : SplitWords(raw)) words.push_back(vocabulary.IdOf(word));
    if (words.empty()) words.push_back(vocabulary.IdOf(""));
    pieces.push_back(std::move(words));
  }
  return pieces;
}

int64_t Distinct(const std::vector<WordIds>& pieces, size_t vocabulary) {
  std::vector<bool> seen(vocabulary);
  int64_t count = 0;
  for (const WordIds& piece : pieces) {
    for (const int32_t word : piece) {
      if (!seen[static_cast<size_t>(word)]) ++count;
      seen[static_cast<size_t>(word)] = true;
    }
  }
  return count;
}

/// The table of a longest common subsequence by bits (Hyyrö, "Bit-parallel LCS-length computation
/// revisited", 2004): of each row only whether an entry exceeds its left neighbour, since that is
/// all that the walk back asks. One word of 64 bits holds 64 columns.
class CommonSubsequence {
 public:
  explicit CommonSubsequence(size_t vocabulary) : matches_(vocabulary) {}

  /// Marks the words of one longest common subsequence of x and y; false where the walk is too
  /// long.
  bool Mark(const WordIds& x, const WordIds& y, std::vector<bool>& marked) {
    Fill(x, y);
    int64_t moves = 0;
    for (size_t i = x.size(), j = y.size(); i > 0 && j > 0; ++moves) {
      if (x[i - 1] == y[j - 1]) {
        marked[static_cast<size_t>(x[i - 1])] = true;
        --i;
        --j;
      } else if (ExceedsLeft(i, j)) {
        --i;
      } else {
        --j;
      }
    }
    return moves <= kMaxMoves;
  }

 private:
  /// Bit j - 1 of row i is 0 where entry (i, j) exceeds entry (i, j - 1).
  bool ExceedsLeft(size_t i, size_t j) const {
    return (rows_[i * width_ + (j - 1) / 64] >> ((j - 1) % 64) & 1) == 0;
  }

  void Fill(const WordIds& x, const WordIds& y) {
    width_ = (y.size() + 63) / 64;
    for (size_t j = 0; j < y.size(); ++j) {
      std::vector<uint64_t>& match = matches_[static_cast<size_t>(y[j])];
      match.resize(std::max(match.size(), width_));
      match[j / 64] |= uint64_t{1} << (j % 64);
    }
    rows_.resize(std::max(rows_.size(), (x.size() + 1) * width_));
    std::fill_n(rows_.begin(), width_, ~uint64_t{0});
    for (size_t i = 1; i <= x.size(); ++i) {
      const std::vector<uint64_t>& match = matches_[static_cast<size_t>(x[i - 1])];
      uint64_t carry = 0;
      for (size_t k = 0; k < width_; ++k) {
        const uint64_t above = rows_[(i - 1) * width_ + k];
        const uint64_t shared = k < match.size() ? above & match[k] : 0;
        const uint64_t partial = above + carry;
        const uint64_t sum = partial + shared;
        carry = static_cast<uint64_t>(partial < above) + static_cast<uint64_t>(sum < partial);
        rows_[i * width_ + k] = sum | (above & ~shared);
      }
    }
    for (const int32_t word : y) matches_[static_cast<size_t>(word)].clear();
  }

  std::vector<std::vector<uint64_t>> matches_;  // word → its places in y
  std::vector<uint64_t> rows_;                  // [rows, width_]
  size_t width_ = 0;
};

}  // namespace

double RougeL(std::string_view prediction, std::string_view reference) {
  Vocabulary vocabulary;
  const std::vector<WordIds> hypothesis = Pieces(prediction, vocabulary);
  const std::vector<WordIds> gold = Pieces(reference, vocabulary);
  if (hypothesis.empty() || gold.empty()) return 0;
  std::vector<bool> marked(vocabulary.size());
  CommonSubsequence common_subsequence(vocabulary.size());
  for (const WordIds& x : gold) {
    for (const WordIds& y : hypothesis) {
      if (!common_subsequence.Mark(x, y, marked)) return 0;
    }
  }
  double common = 0;
  for (const bool mark : marked) common += mark ? 1 : 0;
  const double recall = common / static_cast<double>(Distinct(gold, vocabulary.size()));
  const double precision = common / static_cast<double>(Distinct(hypothesis, vocabulary.size()));
  return 2.0 * ((precision * recall) / (precision + recall + 1e-8));
}

}  // namespace natsl::tasks::metrics
