// HellaSwag's text clean-up.
#pragma once

#include <string>
#include <string_view>

namespace natsl::tasks {

/// The protocol's clean-up of a context or ending: stripped, " [title]" to ". ", bracketed remarks
/// dropped, double spaces halved in one pass.
std::string CleanHellaswagText(std::string_view text);

/// Python's str.capitalize(): the first character in title case, all others in lower case.
std::string PythonCapitalize(std::string_view text);

}  // namespace natsl::tasks
