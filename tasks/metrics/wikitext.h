// What the harness does to a wikitext page: the detokenised text that is scored, and the counts of
// the original page that the loss is divided by.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace natsl::tasks::metrics {

/// The 24 replacement rules in their order: "@-@" and spaced punctuation, white space inside pairs
/// of brackets and quotes (paired greedily over the whole page), headings, " N ".
std::string WikitextDetokenize(std::string_view page);

/// len(re.split(r"\s+", page)): empty pieces at the ends count.
int64_t WikitextWords(std::string_view page);

}  // namespace natsl::tasks::metrics
