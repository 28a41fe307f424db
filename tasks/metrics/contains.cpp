// The recall tasks' metric.
#include "tasks/metrics/contains.h"

#include <algorithm>

#include "core/error.h"
#include "core/utf8.h"
#include "tasks/metrics/python_text.h"

namespace natsl::tasks::metrics {

int ContainsStripped(std::string_view generation, std::string_view answer) {
  return ContainsIgnoringCase(generation, core::PythonStrip(answer)) ? 1 : 0;
}

int ContainsAnyOf(std::string_view generation, std::span<const std::string> answers) {
  if (answers.empty()) throw DataError("contains: the answer list is empty");
  return std::any_of(
             answers.begin(), answers.end(),
             [&](const std::string& answer) { return ContainsIgnoringCase(generation, answer); })
             ? 1
             : 0;
}

}  // namespace natsl::tasks::metrics
