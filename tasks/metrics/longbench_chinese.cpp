// LongBench's scores of Chinese answers.
#include "tasks/metrics/longbench_chinese.h"

#include "core/utf8.h"
#include "tasks/metrics/python_text.h"
#include "tasks/metrics/rouge.h"
#include "tasks/metrics/token_f1.h"

namespace natsl::tasks::metrics {
namespace {

struct Range {
  char32_t first, last;
};

/// The reference's set of Chinese punctuation, by code point. It lacks 《 〈 〉 and U+FF0E.
constexpr Range kChinesePunctuation[] = {
    {0x2013, 0x2014}, {0x2018, 0x2019}, {0x201B, 0x201F}, {0x2026, 0x2027}, {0x3001, 0x3003},
    {0x300B, 0x3011}, {0x3014, 0x301F}, {0x3030, 0x3030}, {0x303E, 0x303F}, {0xFE4F, 0xFE4F},
    {0xFF01, 0xFF0D}, {0xFF0F, 0xFF0F}, {0xFF1A, 0xFF20}, {0xFF3B, 0xFF40}, {0xFF5B, 0xFF64},
};

bool IsPunctuation(char32_t c) {
  if (IsAsciiPunctuation(c)) return true;
  for (const Range& range : kChinesePunctuation) {
    if (c >= range.first && c <= range.last) return true;
  }
  return false;
}

std::string Normalize(std::string_view token) {
  const std::string lower = Lower(token);
  std::string out;
  for (size_t position = 0; position < lower.size();) {
    const char32_t c = core::NextCodePoint(lower, position);
    if (!IsPunctuation(c) && !core::IsPythonSpace(c)) core::AppendUtf8(out, c);
  }
  return out;
}

std::string JoinTokens(std::string_view text, const ChineseSegmenter& segmenter) {
  std::string out;
  bool first = true;
  for (const std::string& token : segmenter.Cut(text)) {
    if (!first) out += ' ';
    first = false;
    out += token;
  }
  return out;
}

}  // namespace

std::vector<std::string> ChineseTokens(std::string_view text, const ChineseSegmenter& segmenter) {
  std::vector<std::string> tokens;
  for (const std::string& token : segmenter.Cut(text)) {
    std::string normal = Normalize(token);
    if (!normal.empty()) tokens.push_back(std::move(normal));
  }
  return tokens;
}

double LongBenchQaF1Zh(std::string_view prediction, std::string_view reference,
                       const ChineseSegmenter& segmenter) {
  return TokenF1(ChineseTokens(prediction, segmenter), ChineseTokens(reference, segmenter));
}

double LongBenchRougeZh(std::string_view prediction, std::string_view reference,
                        const ChineseSegmenter& segmenter) {
  return RougeL(JoinTokens(prediction, segmenter), JoinTokens(reference, segmenter));
}

}  // namespace natsl::tasks::metrics
