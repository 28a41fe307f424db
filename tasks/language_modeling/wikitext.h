// WikiText pages: splitting the published file, undoing its tokenisation, counting its words.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace natsl::tasks {

/// Pages of a raw WikiText file, as the document-level dataset cuts them: a page starts at a line
/// that reads "= title =" on its own; blank pages are left out.
std::vector<std::string> SplitWikitextPages(std::string_view text);

/// The protocol's detokeniser: 24 rules in order (specs: lm-evaluation-harness wikitext 2.0).
std::string DetokenizeWikitext(std::string_view page);

/// Pieces of a split at runs of white space; empty pieces at the ends count.
int64_t CountSplitWords(std::string_view text);

}  // namespace natsl::tasks
