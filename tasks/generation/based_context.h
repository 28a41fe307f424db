// Cutting long documents to a window around the answer, as the HazyResearch fork does before it
// builds its recall prompts.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace natsl::tasks {

/// Which ids of a document are kept: [begin, end).
struct TokenWindow {
  int64_t begin = 0;
  int64_t end = 0;
};

/// `answer`: ids in front of the answer; D = context_length - answer_length ids at most: D / 2
/// before the answer, the rest after it; the window isn't moved back at the document's end.
TokenWindow WindowAround(int64_t ids, int64_t answer, int64_t context_length,
                         int64_t answer_length);

/// Position in characters of the first of `needles` by position, ignoring case; -1 for none.
int64_t FirstOccurrence(const std::string& text, const std::vector<std::string>& needles);

/// The window of `text` around the character `position` (-1: around its end, as the fork's slice
/// makes it). Ids are counted by `count_tokens`, and the ends of the window are the shortest
/// prefixes with as many ids; decoding the window's ids may differ by the characters of one id at
/// each end.
std::string CutAround(const std::string& text, int64_t position, int64_t context_length,
                      int64_t answer_length,
                      const std::function<int64_t(const std::string&)>& count_tokens);

}  // namespace natsl::tasks
