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

/// Marks the words of one longest common subsequence of x and y; false where the walk is too long.
bool MarkCommon(const WordIds& x, const WordIds& y, std::vector<int32_t>& table,
                std::vector<bool>& marked) {
  const size_t n = x.size(), m = y.size(), width = m + 1;
  // The first row and column are zero; all else is written below.
  table.resize(std::max(table.size(), (n + 1) * width));
  std::fill_n(table.begin(), width, 0);
  for (size_t i = 1; i <= n; ++i) table[i * width] = 0;
  for (size_t i = 1; i <= n; ++i) {
    int32_t* row = &table[i * width];
    const int32_t* above = row - width;
    const int32_t word = x[i - 1];
    int32_t left = 0;
    for (size_t j = 1; j <= m; ++j) {
      const int32_t longer = std::max(left, above[j]);
      left = y[j - 1] == word ? above[j - 1] + 1 : longer;
      row[j] = left;
    }
  }
  int64_t moves = 0;
  for (size_t i = n, j = m; i > 0 && j > 0; ++moves) {
    if (x[i - 1] == y[j - 1]) {
      marked[static_cast<size_t>(x[i - 1])] = true;
      --i;
      --j;
    } else if (table[(i - 1) * width + j] > table[i * width + j - 1]) {
      --i;
    } else {
      --j;
    }
  }
  return moves <= kMaxMoves;
}

}  // namespace

double RougeL(std::string_view prediction, std::string_view reference) {
  Vocabulary vocabulary;
  const std::vector<WordIds> hypothesis = Pieces(prediction, vocabulary);
  const std::vector<WordIds> gold = Pieces(reference, vocabulary);
  if (hypothesis.empty() || gold.empty()) return 0;
  std::vector<bool> marked(vocabulary.size());
  std::vector<int32_t> table;
  for (const WordIds& x : gold) {
    for (const WordIds& y : hypothesis) {
      if (!MarkCommon(x, y, table, marked)) return 0;
    }
  }
  double common = 0;
  for (const bool mark : marked) common += mark ? 1 : 0;
  const double recall = common / static_cast<double>(Distinct(gold, vocabulary.size()));
  const double precision = common / static_cast<double>(Distinct(hypothesis, vocabulary.size()));
  return 2.0 * ((precision * recall) / (precision + recall + 1e-8));
}

}  // namespace natsl::tasks::metrics
