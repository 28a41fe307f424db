// Training documents from our own seeded generators: needles in RULER's wording, associative
// recall and phonebooks in the layout of the suite's tasks, and templated stories. Text only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/python_random.h"

namespace natsl::training {

/// A stretch of text and whether its tokens are to be learned. Random keys and values can't be
/// foreseen where they first stand: only answers are learned there, of stories every token.
struct Part {
  std::string text;
  bool learn = false;
};
/// Parts meet where no token reaches across: before a space, before or behind a digit or a newline.
using Document = std::vector<Part>;

enum class DocumentKind {
  kNeedle,     ///< one or a few needles in repeated sentences, then questions
  kNeedles,    ///< a haystack of needles, then questions
  kRecall,     ///< "QK 41 ZR 07 ...", then queries (task mqar)
  kPhonebook,  ///< "Ada Khan: 555-0123", then look-ups (task phonebook)
  kStory,      ///< a story
};
constexpr int kDocumentKinds = 5;

/// "needle", "needles", "recall", "phonebook", "story".
std::string_view Name(DocumentKind kind);

/// Smallest size that the kind takes, and (for kStory) the largest.
int64_t LeastSize(DocumentKind kind);

/// A document of some size: lines of the haystack, pairs, entries, sentences. A size below the
/// least is taken as the least.
Document MakeDocument(DocumentKind kind, int64_t size, core::PythonRandom& random);

/// Text of all parts.
std::string TextOf(const Document& document);

/// A key for a needle, "brave-lantern": of our own word lists, or made of syllables.
std::string NeedleKey(core::PythonRandom& random);

/// A story of about `sentences` sentences (at least 4).
std::string MakeStory(int64_t sentences, core::PythonRandom& random);

}  // namespace natsl::training
