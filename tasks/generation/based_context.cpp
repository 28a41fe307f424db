// Cutting documents around their answers.
#include "tasks/generation/based_context.h"

#include <algorithm>

#include "core/cast.h"
#include "core/utf8.h"
#include "tasks/metrics/python_text.h"

namespace natsl::tasks {
namespace {

std::u32string Folded(std::u32string_view text) {
  std::u32string keys;
  keys.reserve(text.size());
  for (const char32_t c : text) keys += metrics::IgnoreCaseKey(c);
  return keys;
}

}  // namespace

TokenWindow WindowAround(int64_t ids, int64_t answer, int64_t context_length,
                         int64_t answer_length) {
  const int64_t budget = context_length - answer_length;
  const int64_t begin = std::max<int64_t>(0, answer - budget / 2);
  return {begin, std::min(ids, answer + (budget - (answer - begin)))};
}

int64_t FirstOccurrence(const std::string& text, const std::vector<std::string>& needles) {
  const std::u32string keys = Folded(core::DecodeUtf8(text));
  int64_t first = -1;
  for (const std::string& needle : needles) {
    const size_t found = keys.find(Folded(core::DecodeUtf8(needle)));
    if (found == std::u32string::npos) continue;
    const auto position = static_cast<int64_t>(found);
    if (first < 0 || position < first) first = position;
  }
  return first;
}

std::string CutAround(const std::string& text, int64_t position, int64_t context_length,
                      int64_t answer_length,
                      const std::function<int64_t(const std::string&)>& count_tokens) {
  const std::u32string characters = core::DecodeUtf8(text);
  const int64_t length = core::Size(characters);
  const auto prefix = [&](int64_t end) {
    return core::EncodeUtf8(std::u32string_view(characters).substr(0, static_cast<size_t>(end)));
  };
  const int64_t ids = count_tokens(text);
  const int64_t answer =
      count_tokens(prefix(position < 0 ? std::max<int64_t>(0, length - 1) : position));
  const TokenWindow window = WindowAround(ids, answer, context_length, answer_length);
  // The shortest prefix with at least `wanted` ids.
  const auto boundary = [&](int64_t wanted) {
    if (wanted >= ids) return length;
    int64_t low = 0, high = length;
    while (low < high) {
      const int64_t middle = low + (high - low) / 2;
      if (count_tokens(prefix(middle)) >= wanted) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  };
  const int64_t begin = window.begin == 0 ? 0 : boundary(window.begin);
  const int64_t end = std::max(begin, boundary(window.end));
  return core::EncodeUtf8(
      std::u32string_view(characters)
          .substr(static_cast<size_t>(begin), static_cast<size_t>(end - begin)));
}

}  // namespace natsl::tasks
