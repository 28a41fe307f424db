// Typed access to a task's own parameters.
#include "tasks/parameters.h"

#include <algorithm>
#include <charconv>

#include "core/error.h"

namespace natsl::tasks {

Parameters::Parameters(const std::string& task, const TaskOptions& options,
                       std::initializer_list<std::string_view> known)
    : task_(task), options_(options) {
  for (const auto& [name, value] : options.parameters) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    std::string list;
    for (const std::string_view item : known)
      list += fmt::format("{}{}", list.empty() ? "" : ", ", item);
    throw UsageError("task {}: unknown parameter \"{}\", expected one of: {}", task, name,
                     list.empty() ? "none" : list);
  }
}

std::optional<std::string> Parameters::Text(std::string_view name) const {
  const auto found = options_.parameters.find(std::string(name));
  if (found == options_.parameters.end()) return std::nullopt;
  return found->second;
}

std::optional<int64_t> Parameters::Count(std::string_view name, int64_t least) const {
  const std::optional<std::string> text = Text(name);
  if (!text) return std::nullopt;
  int64_t value = 0;
  const char* end = text->data() + text->size();
  auto [rest, failure] = std::from_chars(text->data(), end, value);
  bool valid = failure == std::errc();
  if (valid && rest != end && (*rest == 'k' || *rest == 'K')) {
    valid = value <= (int64_t{1} << 40);
    value *= 1024;
    ++rest;
  }
  if (!valid || rest != end || value < least) {
    throw UsageError("task {}: {} is \"{}\", expected an integer of at least {} (4k is 4096)",
                     task_, name, *text, least);
  }
  return value;
}

}  // namespace natsl::tasks
