// WikiText pages: splitting the published file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace natsl::tasks {

/// Pages of a raw WikiText file, as the document-level dataset cuts them: a page starts at a line
/// that reads "= title =" on its own; blank pages are left out.
std::vector<std::string> SplitWikitextPages(std::string_view text);

}  // namespace natsl::tasks
