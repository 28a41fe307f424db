#include "cli/json_lines.h"

#include "core/error.h"
#include "core/json.h"
#include "core/utf8.h"

namespace natsl::cli {

void ForEachJsonLine(std::istream& in,
                     const std::function<void(core::Json&, const std::string&)>& body) {
  std::string line;
  for (int64_t number = 1; std::getline(in, line); ++number) {
    if (core::PythonStrip(line).empty()) continue;
    const std::string where = fmt::format("stdin:{}", number);
    core::Json value = core::ParseJson(line, where, ErrorCode::kData, {.python_numbers = true});
    body(value, where);
  }
  if (in.bad())
    throw DataError("stdin: cannot be read; give the lines on it, as from a file with <");
}

}  // namespace natsl::cli
