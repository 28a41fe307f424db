// Segmentation: the best path through the dictionary, then the hidden Markov model for runs of
// single characters.
#include "tasks/metrics/chinese_segmenter.h"

#include <algorithm>
#include <cmath>

#include "core/utf8.h"

namespace natsl::tasks::metrics {
namespace {

constexpr double kNever = -3.14e100;  // jieba's log-probability of the impossible

bool IsHan(char32_t c) { return c >= 0x4E00 && c <= 0x9FD5; }
bool IsDigit(char32_t c) { return c >= '0' && c <= '9'; }
bool IsAlphanumeric(char32_t c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || IsDigit(c);
}
bool IsBlockCharacter(char32_t c) {
  return IsHan(c) || IsAlphanumeric(c) || c == '+' || c == '#' || c == '&' || c == '.' ||
         c == '_' || c == '%' || c == '-';
}

/// End of the run of characters from `begin` on for which `belongs` has the same answer.
template <typename Belongs>
size_t RunEnd(std::u32string_view text, size_t begin, const Belongs& belongs) {
  const bool first = belongs(text[begin]);
  size_t end = begin + 1;
  while (end < text.size() && belongs(text[end]) == first) ++end;
  return end;
}

/// Length of [a-zA-Z0-9]+(\.[0-9]+)?%? at `begin`; 0 where it doesn't match.
size_t LatinLength(std::u32string_view text, size_t begin) {
  size_t end = begin;
  while (end < text.size() && IsAlphanumeric(text[end])) ++end;
  if (end == begin) return 0;
  if (end + 1 < text.size() && text[end] == '.' && IsDigit(text[end + 1])) {
    ++end;
    while (end < text.size() && IsDigit(text[end])) ++end;
  }
  if (end < text.size() && text[end] == '%') ++end;
  return end - begin;
}

/// Text that isn't Han: numbers and Latin words, and what stands between them.
void CutLatin(std::u32string_view text, std::vector<std::u32string>& out) {
  size_t start = 0, position = 0;
  while (position < text.size()) {
    const size_t length = LatinLength(text, position);
    if (length == 0) {
      ++position;
      continue;
    }
    if (position > start) out.emplace_back(text.substr(start, position - start));
    out.emplace_back(text.substr(position, length));
    position += length;
    start = position;
  }
  if (start < text.size()) out.emplace_back(text.substr(start));
}

uint64_t HashOf(uint64_t key) { return (key * 0x9E3779B97F4A7C15ULL) >> 20; }

uint64_t KeyOf(int32_t node, char32_t c) { return (static_cast<uint64_t>(node) << 21 | c) + 1; }

}  // namespace

int32_t ChineseSegmenter::Child(int32_t node, char32_t c) const {
  const uint64_t key = KeyOf(node, c);
  const size_t mask = edges_.size() - 1;
  for (size_t slot = HashOf(key) & mask;; slot = (slot + 1) & mask) {
    if (edges_[slot].key == key) return edges_[slot].child;
    if (edges_[slot].key == 0) return -1;
  }
}

void ChineseSegmenter::AddWord(std::string_view word, int64_t frequency) {
  int32_t node = 0;
  for (size_t position = 0; position < word.size();) {
    const char32_t c = core::NextCodePoint(word, position);
    const int32_t child = Child(node, c);
    if (child >= 0) {
      node = child;
      continue;
    }
    if (2 * frequency_.size() >= edges_.size()) {
      std::vector<Edge> old(2 * edges_.size());
      old.swap(edges_);
      for (const Edge& edge : old) {
        if (edge.key == 0) continue;
        size_t slot = HashOf(edge.key) & (edges_.size() - 1);
        while (edges_[slot].key != 0) slot = (slot + 1) & (edges_.size() - 1);
        edges_[slot] = edge;
      }
    }
    const uint64_t key = KeyOf(node, c);
    size_t slot = HashOf(key) & (edges_.size() - 1);
    while (edges_[slot].key != 0) slot = (slot + 1) & (edges_.size() - 1);
    node = static_cast<int32_t>(frequency_.size());
    edges_[slot] = {key, node};
    frequency_.push_back(0);
  }
  frequency_[static_cast<size_t>(node)] = frequency;
}

int64_t ChineseSegmenter::FrequencyOf(std::u32string_view word) const {
  int32_t node = 0;
  for (const char32_t c : word) {
    node = Child(node, c);
    if (node < 0) return 0;
  }
  return frequency_[static_cast<size_t>(node)];
}

void ChineseSegmenter::CutHan(std::u32string_view text, std::vector<std::u32string>& out) const {
  constexpr size_t kB = 0, kE = 1, kM = 2, kS = 3;  // alphabetical: ties take the larger letter
  constexpr size_t kBefore[4][2] = {{kE, kS}, {kB, kM}, {kB, kM}, {kE, kS}};
  const auto emission = [&](size_t state, char32_t c) {
    const auto found = emission_[state].find(c);
    return found == emission_[state].end() ? kNever : found->second;
  };
  std::vector<std::array<uint8_t, 4>> previous(text.size());
  std::array<double, 4> score{};
  for (size_t state = 0; state < 4; ++state) {
    score[state] = start_[state] + emission(state, text[0]);
  }
  for (size_t t = 1; t < text.size(); ++t) {
    std::array<double, 4> next{};
    for (size_t state = 0; state < 4; ++state) {
      const double emitted = emission(state, text[t]);
      const auto [low, high] = kBefore[state];
      const double by_low = score[low] + transition_[low][state] + emitted;
      const double by_high = score[high] + transition_[high][state] + emitted;
      const bool take_high = by_high >= by_low;
      next[state] = take_high ? by_high : by_low;
      previous[t][state] = static_cast<uint8_t>(take_high ? high : low);
    }
    score = next;
  }
  std::vector<size_t> path(text.size());
  path.back() = score[kS] >= score[kE] ? kS : kE;
  for (size_t t = text.size() - 1; t > 0; --t) path[t - 1] = previous[t][path[t]];
  size_t begin = 0, next = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (path[i] == kB) begin = i;
    if (path[i] == kE) out.emplace_back(text.substr(begin, i + 1 - begin));
    if (path[i] == kS) out.emplace_back(text.substr(i, 1));
    if (path[i] == kE || path[i] == kS) next = i + 1;
  }
  if (next < text.size()) out.emplace_back(text.substr(next));
}

void ChineseSegmenter::CutByModel(std::u32string_view text,
                                  std::vector<std::u32string>& out) const {
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = RunEnd(text, begin, IsHan);
    const std::u32string_view run = text.substr(begin, end - begin);
    if (IsHan(run[0])) {
      CutHan(run, out);
    } else {
      CutLatin(run, out);
    }
    begin = end;
  }
}

void ChineseSegmenter::Flush(std::u32string_view buffer, std::vector<std::u32string>& out) const {
  if (buffer.size() > 1 && FrequencyOf(buffer) == 0) {
    CutByModel(buffer, out);
  } else {
    for (const char32_t c : buffer) out.emplace_back(1, c);
  }
}

void ChineseSegmenter::CutBlock(std::u32string_view block, std::vector<std::u32string>& out) const {
  const size_t n = block.size();
  std::vector<double> score(n + 1);
  std::vector<size_t> end(n);  // last character of the best word from here
  for (size_t k = n; k-- > 0;) {
    bool any = false;
    int32_t node = 0;
    const auto consider = [&](size_t x, int64_t frequency) {
      const double value = std::log(static_cast<double>(std::max<int64_t>(frequency, 1))) -
                           log_total_ + score[x + 1];
      if (!any || value >= score[k]) {
        score[k] = value;
        end[k] = x;
      }
      any = true;
    };
    for (size_t x = k; x < n; ++x) {
      node = Child(node, block[x]);
      if (node < 0) break;
      const int64_t frequency = frequency_[static_cast<size_t>(node)];
      if (frequency > 0) consider(x, frequency);
    }
    if (!any) consider(k, 0);
  }
  size_t buffer = 0;  // single characters [buffer, x) wait
  for (size_t x = 0; x < n;) {
    const size_t next = end[x] + 1;
    if (next - x > 1) {
      Flush(block.substr(buffer, x - buffer), out);
      out.emplace_back(block.substr(x, next - x));
      buffer = next;
    }
    x = next;
  }
  Flush(block.substr(buffer), out);
}

std::vector<std::string> ChineseSegmenter::Cut(std::string_view text) const {
  const std::u32string decoded = core::DecodeUtf8(text);
  const std::u32string_view all = decoded;
  std::vector<std::u32string> tokens;
  for (size_t begin = 0; begin < all.size();) {
    const size_t end = RunEnd(all, begin, IsBlockCharacter);
    if (IsBlockCharacter(all[begin])) {
      CutBlock(all.substr(begin, end - begin), tokens);
      begin = end;
      continue;
    }
    for (; begin < end; ++begin) {
      const bool pair = all[begin] == '\r' && begin + 1 < end && all[begin + 1] == '\n';
      tokens.emplace_back(all.substr(begin, pair ? 2 : 1));
      if (pair) ++begin;
    }
  }
  std::vector<std::string> out;
  out.reserve(tokens.size());
  for (const std::u32string& token : tokens) out.push_back(core::EncodeUtf8(token));
  return out;
}

}  // namespace natsl::tasks::metrics
