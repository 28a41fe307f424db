// The tasks' cards as text.
#pragma once

#include <ostream>

namespace natsl::cli {

void PrintTaskNames(std::ostream& out);
void PrintTaskCards(std::ostream& out);
/// The Markdown page that ships as docs/tasks.md.
void PrintTaskPage(std::ostream& out);

}  // namespace natsl::cli
