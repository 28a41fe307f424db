// Finding and reading data files.
#include "tasks/data_source.h"

#include <algorithm>

#include "core/files.h"
#include "core/hash.h"
#include "core/json.h"
#include "core/threads.h"
#include "core/utf8.h"
#include "tasks/data/compressed.h"
#include "tasks/data/hub_cache.h"
#include "tasks/data/parquet.h"

namespace natsl::tasks {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kHub = "hub:";

/// The ending that says how the content is laid out: "a.jsonl.gz" -> ".jsonl".
std::string LayoutEnding(const fs::path& file) {
  const std::string ending = file.extension().string();
  if (ending == ".gz" || ending == ".zst") return file.stem().extension().string();
  return ending;
}

void RequireUtf8(std::string_view text, const std::string& name) {
  const size_t invalid = core::FindInvalidUtf8(text);
  if (invalid == std::string_view::npos) return;
  const auto line =
      1 + std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(invalid), '\n');
  throw DataError("{}:{}: not valid UTF-8 at byte {} of the file", name, line, invalid);
}

std::string_view WithoutByteOrderMark(std::string_view text) {
  return text.starts_with("\xEF\xBB\xBF") ? text.substr(3) : text;
}

std::vector<Record> ParseJsonDocument(std::string_view text, const std::string& name) {
  core::Json value = core::ParseJson(text, name, ErrorCode::kData);
  std::vector<Record> records;
  if (!value.is_array()) {
    records.push_back({std::make_shared<core::Json>(std::move(value)), name});
    return records;
  }
  records.reserve(value.size());
  for (size_t i = 0; i < value.size(); ++i) {
    records.push_back(
        {std::make_shared<core::Json>(std::move(value[i])), fmt::format("{}: record {}", name, i)});
  }
  return records;
}

/// Some publishers call a JSONL file ".json": its first line alone is a whole value, and more
/// follow.
bool LooksLikeJsonLines(std::string_view text) {
  const size_t end = text.find('\n');
  if (end == std::string_view::npos || core::PythonStrip(text.substr(end)).empty()) return false;
  const std::string_view line = core::PythonStrip(text.substr(0, end));
  return line.starts_with('{') && line.ends_with('}') && core::Json::accept(line);
}

}  // namespace

std::vector<Record> ParseJsonLines(std::string_view text, const std::string& name) {
  struct Line {
    std::string_view text;
    int64_t number;
  };
  std::vector<Line> lines;
  int64_t number = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    ++number;
    if (!core::PythonStrip(line).empty()) lines.push_back({line, number});
    begin = end + 1;
  }
  std::vector<Record> records(lines.size());
  core::ParallelFor(static_cast<int64_t>(lines.size()), 0, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const Line& line = lines[static_cast<size_t>(i)];
      Record& record = records[static_cast<size_t>(i)];
      record.where = fmt::format("{}:{}", name, line.number);
      record.value =
          std::make_shared<core::Json>(core::ParseJson(line.text, record.where, ErrorCode::kData));
    }
  });
  return records;
}

std::vector<fs::path> DataSource::FindAll(const std::vector<std::string>& candidates) const {
  std::error_code error;
  for (const std::string& candidate : candidates) {
    if (candidate.starts_with(kHub)) {
      const auto found = FindInHub(root_, candidate.substr(kHub.size()));
      if (!found.empty()) return found;
      continue;
    }
    for (const char* ending : {"", ".gz", ".zst"}) {
      const fs::path path = root_ / (candidate + ending);
      if (fs::is_regular_file(path, error)) return {path};
    }
  }
  return {};
}

std::optional<fs::path> DataSource::Find(const std::vector<std::string>& candidates) const {
  const auto found = FindAll(candidates);
  if (found.empty()) return std::nullopt;
  return found.front();
}

std::vector<fs::path> DataSource::RequireAll(const std::string& dataset,
                                             const std::vector<std::string>& candidates) const {
  std::error_code error;
  if (!fs::is_directory(root_, error)) {
    throw DataError("{}: the data folder doesn't exist; --data DIR names it", root_.string());
  }
  auto found = FindAll(candidates);
  if (found.empty()) {
    throw DataError(
        "the data of {} is missing in {}; looked for {} ('hub:' means a Hugging Face cache). "
        "`natsl-bench data fetch {} --data DIR` gets it where it is published",
        dataset, root_.string(), fmt::join(candidates, ", "), dataset);
  }
  return found;
}

fs::path DataSource::Require(const std::string& dataset,
                             const std::vector<std::string>& candidates) const {
  return RequireAll(dataset, candidates).front();
}

std::string DataSource::Show(const fs::path& file) const {
  const fs::path relative = file.lexically_relative(root_);
  if (relative.empty() || relative.begin()->string() == "..") return file.string();
  return relative.string();
}

std::string DataSource::ReadText(const fs::path& file) const {
  FileBytes bytes = ReadPossiblyCompressed(file, Show(file));
  RequireUtf8(bytes.content(), Show(file));
  return bytes.compressed ? std::move(bytes.unpacked) : std::move(bytes.stored);
}

RecordSet DataSource::Read(const fs::path& file) const {
  const std::string name = Show(file);
  const std::string ending = LayoutEnding(file);
  RecordSet set;
  set.files = {file};
  if (ending == ".parquet") {
    set.records = ReadParquet(file, name);
    set.sha256 = core::Sha256HexOfFile(file);
  } else if (ending == ".jsonl" || ending == ".ndjson" || ending == ".json") {
    const FileBytes bytes = ReadPossiblyCompressed(file, name);
    set.sha256 = core::Sha256Hex(bytes.stored);
    RequireUtf8(bytes.content(), name);
    const std::string_view text = WithoutByteOrderMark(bytes.content());
    if (core::PythonStrip(text).empty()) {
      throw DataError("{}: the file is empty, expected at least one record", name);
    }
    set.records = ending != ".json" || LooksLikeJsonLines(text) ? ParseJsonLines(text, name)
                                                                : ParseJsonDocument(text, name);
  } else {
    throw DataError(
        "{}: files ending in '{}' can't be read here, expected .jsonl, .ndjson, .json (also .gz, "
        ".zst) or .parquet",
        name, ending);
  }
  if (set.records.empty()) {
    throw DataError("{}: no record in the file, expected at least one", name);
  }
  return set;
}

RecordSet DataSource::Read(const std::vector<fs::path>& files) const {
  if (files.size() == 1) return Read(files.front());
  RecordSet all;
  std::string hashes;
  for (const fs::path& file : files) {
    RecordSet set = Read(file);
    std::move(set.records.begin(), set.records.end(), std::back_inserter(all.records));
    all.files.push_back(file);
    hashes += set.sha256;
  }
  all.sha256 = core::Sha256Hex(hashes);
  return all;
}

}  // namespace natsl::tasks
