// Documents by kind.
#include "training/data/documents.h"

#include <algorithm>
#include <array>

#include "core/cast.h"
#include "core/check.h"
#include "core/error.h"
#include "tasks/synthetic/recall.h"
#include "training/data/needles.h"

namespace natsl::training {
namespace {

constexpr std::array<std::string_view, kDocumentKinds> kNames = {"needle", "needles", "recall",
                                                                 "phonebook", "story"};
constexpr std::array<int64_t, kDocumentKinds> kLeast = {2, 2, 2, 3, 4};

/// As task mqar writes it, with every pair asked for once.
Document MakeRecall(int64_t pairs, core::PythonRandom& random) {
  const auto recall = tasks::synthetic::MakeAssociativeRecall(pairs, pairs, random);
  Document document = {{recall.pairs + "\n", false}};
  for (size_t q = 0; q < recall.queries.size(); ++q) {
    document.push_back({(q == 0 ? "" : " ") + recall.queries[q].key, false});
    document.push_back({" " + recall.queries[q].value, true});
  }
  return document;
}

/// As task phonebook writes it; look-ups go on after its own three, up to as many as entries.
Document MakePhonebook(int64_t entries, core::PythonRandom& random) {
  const auto book = tasks::synthetic::MakePhonebook(entries, random);
  const size_t end = book.prompt.find("\n\n");
  NATSL_CHECK(end != std::string::npos);
  std::vector<std::string> lines;
  for (size_t begin = 0; begin <= end;) {
    const size_t stop = book.prompt.find('\n', begin);
    lines.push_back(book.prompt.substr(begin, stop - begin));
    begin = stop + 1;
  }
  Document document = {{book.prompt.substr(0, end + 2), false}};
  const auto look_up = [&](std::string_view line) {
    const size_t colon = line.find(':');
    document.push_back({std::string(line.substr(0, colon + 1)), false});
    document.push_back({std::string(line.substr(colon + 1)) + "\n", true});
  };
  for (size_t begin = end + 2; begin < book.prompt.size();) {
    const size_t stop = std::min(book.prompt.find('\n', begin), book.prompt.size());
    const std::string line = book.prompt.substr(begin, stop - begin);
    look_up(line.ends_with(':') ? line + " " + book.number : line);
    begin = stop + 1;
  }
  for (const int64_t i : random.Sample(entries, entries - 3)) {
    look_up(lines[static_cast<size_t>(i)]);
  }
  return document;
}

}  // namespace

std::string_view Name(DocumentKind kind) { return kNames[static_cast<size_t>(kind)]; }

int64_t LeastSize(DocumentKind kind) { return kLeast[static_cast<size_t>(kind)]; }

Document MakeDocument(DocumentKind kind, int64_t size, core::PythonRandom& random) {
  size = std::max(size, LeastSize(kind));
  switch (kind) {
    case DocumentKind::kNeedle:
      return MakeNeedleDocument(Haystack::kSentences, size, random);
    case DocumentKind::kNeedles:
      return MakeNeedleDocument(Haystack::kNeedles, size, random);
    case DocumentKind::kRecall:
      return MakeRecall(std::min<int64_t>(size, 676), random);
    case DocumentKind::kPhonebook:
      return MakePhonebook(std::min<int64_t>(size, 2304), random);
    case DocumentKind::kStory:
      return {{MakeStory(size, random) + "\n", true}};
  }
  throw InternalError("document kind {}", static_cast<int>(kind));
}

std::string TextOf(const Document& document) {
  std::string text;
  for (const Part& part : document) text += part.text;
  return text;
}

}  // namespace natsl::training
