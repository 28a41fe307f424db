// The five behaviors, over spans that are matches or lie between them.
#include "model_adapters/tokenizers/splitting.h"

#include <algorithm>

namespace natsl::model_adapters::tokenizers {
namespace {

struct Span {
  size_t begin, end;
  bool delimiter;
};

std::vector<Span> AllSpans(size_t size, const std::vector<Match>& matches, bool invert) {
  std::vector<Span> spans;
  spans.reserve(matches.size() * 2 + 1);
  size_t position = 0;
  for (const Match& match : matches) {
    if (match.begin > position) spans.push_back({position, match.begin, invert});
    spans.push_back({match.begin, match.end, !invert});
    position = match.end;
  }
  if (position < size) spans.push_back({position, size, invert});
  return spans;
}

/// Joins neighbours where `joins(previous_is_delimiter, this_is_delimiter)`; what was seen last
/// counts, not what it was joined to.
template <typename Joins>
std::vector<Span> Join(const std::vector<Span>& spans, Joins&& joins) {
  std::vector<Span> joined;
  bool previous = false;
  for (const Span& span : spans) {
    if (!joined.empty() && joins(previous, span.delimiter)) {
      joined.back().begin = std::min(joined.back().begin, span.begin);
      joined.back().end = std::max(joined.back().end, span.end);
    } else {
      joined.push_back(span);
    }
    previous = span.delimiter;
  }
  return joined;
}

}  // namespace

Behavior BehaviorField(const core::JsonObject& object, std::string_view key) {
  const std::string name = object.String(key);
  if (name == "Removed") return Behavior::kRemoved;
  if (name == "Isolated") return Behavior::kIsolated;
  if (name == "MergedWithPrevious") return Behavior::kMergedWithPrevious;
  if (name == "MergedWithNext") return Behavior::kMergedWithNext;
  if (name == "Contiguous") return Behavior::kContiguous;
  throw object.Wrong(key, "Removed, Isolated, MergedWithPrevious, MergedWithNext or Contiguous");
}

void CutAtMatches(const Piece& piece, const std::vector<Match>& matches, Behavior behavior,
                  bool invert, std::vector<Piece>& out) {
  const auto emit = [&](size_t begin, size_t end) {
    if (end == begin) return;
    out.push_back({piece.text.substr(begin, end - begin), piece.at_start && begin == 0});
  };
  if (behavior == Behavior::kIsolated) {  // the common one: no need to know what is a delimiter
    size_t position = 0;
    for (const Match& match : matches) {
      emit(position, match.begin);
      emit(match.begin, match.end);
      position = match.end;
    }
    emit(position, piece.text.size());
    return;
  }
  std::vector<Span> spans = AllSpans(piece.text.size(), matches, invert);
  switch (behavior) {
    case Behavior::kRemoved:
      std::erase_if(spans, [](const Span& span) { return span.delimiter; });
      break;
    case Behavior::kIsolated:
      break;
    case Behavior::kContiguous:
      spans = Join(spans, [](bool previous, bool now) { return previous == now; });
      break;
    case Behavior::kMergedWithPrevious:
      spans = Join(spans, [](bool previous, bool now) { return now && !previous; });
      break;
    case Behavior::kMergedWithNext:
      std::reverse(spans.begin(), spans.end());
      spans = Join(spans, [](bool previous, bool now) { return now && !previous; });
      std::reverse(spans.begin(), spans.end());
      break;
  }
  for (const Span& span : spans) emit(span.begin, span.end);
}

}  // namespace natsl::model_adapters::tokenizers
