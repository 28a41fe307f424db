// The essay haystack of RULER.
#include "tasks/ruler/haystack.h"

#include <algorithm>

#include "core/files.h"
#include "core/hash.h"
#include "core/json.h"
#include "core/utf8.h"

namespace natsl::tasks::ruler {

std::vector<std::string> EssayWords(std::string_view text) {
  std::vector<std::string> words(1);
  bool in_space = false;
  for (size_t position = 0; position < text.size();) {
    const size_t begin = position;
    if (core::IsPythonSpace(core::NextCodePoint(text, position))) {
      if (!in_space) words.emplace_back();
      in_space = true;
    } else {
      words.back() += text.substr(begin, position - begin);
      in_space = false;
    }
  }
  return words;
}

std::vector<std::string> SplitSentences(std::string_view text) {
  std::vector<std::string> sentences;
  size_t begin = 0;
  const auto emit = [&](size_t end) {
    if (end > begin) sentences.emplace_back(text.substr(begin, end - begin));
  };
  for (size_t i = 0; i + 1 < text.size(); ++i) {
    const bool mark = text[i] == '.' || text[i] == '?' || text[i] == '!';
    if (!mark || text[i + 1] != ' ') continue;
    emit(i + 1);
    begin = i + 2;
  }
  emit(text.size());
  return sentences;
}

Essay LoadEssay(const std::filesystem::path& path) {
  std::vector<std::filesystem::path> files;
  if (std::filesystem::is_directory(path)) {
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      if (entry.path().extension() == ".txt") files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    if (files.empty())
      throw DataError("{}: no .txt files, expected an essay's text", path.string());
  } else {
    files.push_back(path);
  }
  std::string text;
  for (const std::filesystem::path& file : files) {
    std::string part = core::ReadFile(file, ErrorCode::kData);
    if (file.extension() == ".json") {
      const core::Json json = core::ParseJson(part, file.string(), ErrorCode::kData);
      part = core::JsonObject(json, file.string(), ErrorCode::kData).String("text");
    } else if (const size_t bad = core::FindInvalidUtf8(part); bad != std::string::npos) {
      throw DataError("{}: not valid UTF-8 at byte {}", file.string(), bad);
    }
    if (!text.empty()) text += ' ';
    text += part;
  }
  if (core::PythonStrip(text).empty()) throw DataError("{}: empty, expected text", path.string());
  return {EssayWords(text), core::Sha256Hex(text), path.string()};
}

}  // namespace natsl::tasks::ruler
