// Chinese word segmentation equal to jieba 0.42.1's cut(text, cut_all=False) with its hidden Markov
// model. The dictionary and the tables are jieba's own (MIT) and are read from a folder.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace natsl::tasks::metrics {

/// The texts of jieba's data files.
struct SegmenterTables {
  std::string dictionary;  ///< dict.txt: "word frequency tag" a line
  std::string start;       ///< finalseg/prob_start.py: P = {'B': -0.26, ...}
  std::string transition;  ///< finalseg/prob_trans.py: P = {'B': {'E': -0.5, ...}, ...}
  std::string emission;    ///< finalseg/prob_emit.py: P = {'B': {'\u4e00': -3.65, ...}, ...}
};

class ChineseSegmenter {
 public:
  /// Throws Error (data) with file and line where a table can't be read.
  explicit ChineseSegmenter(const SegmenterTables& tables);

  /// The tokens, which join back to the text. Thread safe. `text` is valid UTF-8.
  std::vector<std::string> Cut(std::string_view text) const;

 private:
  int32_t Child(int32_t node, char32_t c) const;
  void CutBlock(std::u32string_view block, std::vector<std::u32string>& out) const;
  void Flush(std::u32string_view buffer, std::vector<std::u32string>& out) const;
  void CutByModel(std::u32string_view text, std::vector<std::u32string>& out) const;
  void CutHan(std::u32string_view text, std::vector<std::u32string>& out) const;
  int64_t FrequencyOf(std::u32string_view word) const;

  void AddWord(std::string_view word, int64_t frequency);

  /// Prefix tree: (node, code point) → child, in an open hash table of a power of two.
  struct Edge {
    uint64_t key = 0;
    int32_t child = -1;
  };
  std::vector<Edge> edges_;
  std::vector<int64_t> frequency_ = {0};  ///< of the word that ends at a node
  double log_total_ = 0;

  std::array<double, 4> start_{};  ///< states B, E, M, S
  std::array<std::array<double, 4>, 4> transition_{};
  std::array<std::unordered_map<char32_t, double>, 4> emission_;
};

/// Where jieba's files are looked for unless told otherwise: ~/.cache/natsl-bench/jieba.
std::filesystem::path DefaultJiebaFolder();

/// Reads dict.txt and prob_*.py (beside it or in finalseg/) of jieba 0.42.1 from a folder: the
/// `jieba` folder of its source package. Throws Error (data) where a file is missing, or where the
/// dictionary isn't that version's, and says how to get it.
ChineseSegmenter LoadJieba(const std::filesystem::path& folder);

/// The segmenter of DefaultJiebaFolder(), loaded at the first use. Throws as LoadJieba, each time.
const ChineseSegmenter& DefaultSegmenter();

}  // namespace natsl::tasks::metrics
