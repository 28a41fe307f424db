// Small pieces of text that RULER's generators share.
#include "tasks/ruler/text.h"

#include <fmt/format.h>

#include <set>

namespace natsl::tasks::ruler {

std::string Join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string out;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) out += separator;
    out += parts[i];
  }
  return out;
}

std::string Numbered(const std::vector<std::string>& words) {
  std::string out;
  for (size_t i = 0; i < words.size(); ++i) {
    out += fmt::format("{}{}. {}", i == 0 ? "" : " ", i + 1, words[i]);
  }
  return out;
}

std::string RandomLetters(char first, int64_t length, core::PythonRandom& random) {
  std::string letters;
  for (const int64_t i : random.Choices(26, length)) letters += static_cast<char>(first + i);
  return letters;
}

std::vector<std::string> RandomNames(char first, int64_t length, int64_t count,
                                     core::PythonRandom& random) {
  std::vector<std::string> names;
  std::set<std::string> distinct;
  while (static_cast<int64_t>(names.size()) < count ||
         static_cast<int64_t>(distinct.size()) < count) {
    names.push_back(RandomLetters(first, length, random));
    distinct.insert(names.back());
  }
  return names;
}

void ReplaceAll(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

}  // namespace natsl::tasks::ruler
