// Length extrapolation: loss and perplexity by block of positions in long windows (definition LX-1
// of specs/length_extrapolation.md).
#pragma once

#include <vector>

#include "tasks/registry.h"

namespace natsl::tasks::extrapolation {

/// `extrapolation_pg19`, `extrapolation_narrativeqa`, `extrapolation_codeparrot` and
/// `extrapolation_text` (any folder of .txt files, or a file). Parameters: length (tokens of a
/// window, default 20480), bucket (default 1024 up to 20480, else 2048; must divide the length),
/// windows (of a document, default 1; of a packed stream, default 100), text (the file or folder),
/// field (of the records, default "text").
std::vector<TaskEntry> ExtrapolationTasks();

}  // namespace natsl::tasks::extrapolation
