// The recall tasks' metric: does the answer occur anywhere in the generation, ignoring case?
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace natsl::tasks::metrics {

/// lm-evaluation-harness (swde, fda, squad_completion): the stripped answer. An answer of white
/// space alone occurs everywhere.
int ContainsStripped(std::string_view generation, std::string_view answer);

/// The HazyResearch fork (based_*): maximum over the answers, not stripped. Throws Error (data) for
/// no answers.
int ContainsAnyOf(std::string_view generation, std::span<const std::string> answers);

}  // namespace natsl::tasks::metrics
