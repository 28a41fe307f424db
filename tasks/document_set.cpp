// Loading the evaluated split and the few-shot pool.
#include "tasks/document_set.h"

#include <algorithm>
#include <charconv>
#include <unordered_map>

#include "core/cast.h"
#include "core/files.h"
#include "core/hash.h"
#include "core/json.h"
#include "core/threads.h"
#include "core/utf8.h"
#include "tasks/few_shot.h"

namespace natsl::tasks {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kFirst = "first:";

/// N of "first:N"; nothing where `from` is something else.
std::optional<int64_t> FirstRecords(const std::string& from) {
  if (!from.starts_with(kFirst)) return std::nullopt;
  int64_t count = 0;
  const char* begin = from.data() + kFirst.size();
  const char* end = from.data() + from.size();
  const auto [stop, error] = std::from_chars(begin, end, count);
  if (error != std::errc() || stop != end || count < 1) {
    throw UsageError("--fewshot-from is '{}', expected first:N with N of at least 1", from);
  }
  return count;
}

RecordSet ReadSplit(const DataSource& data, const DatasetLayout& layout,
                    const std::vector<fs::path>& files) {
  return layout.read ? layout.read(data, files) : data.Read(files);
}

std::string IdOf(const core::Json& value, const std::string& field, int64_t index) {
  const auto found = field.empty() ? value.end() : value.find(field);
  if (found == value.end() || found->is_null()) return std::to_string(index);
  return found->is_string() ? found->get<std::string>() : found->dump();
}

void SetIds(const DatasetLayout& layout, DocumentSet& set) {
  std::unordered_map<std::string, const Record*> seen;
  for (size_t i = 0; i < set.documents.size(); ++i) {
    const Record& record = set.documents[i];
    set.ids.push_back(IdOf(*record.value, layout.id_field, static_cast<int64_t>(i)));
    const auto [first, is_new] = seen.emplace(set.ids.back(), &record);
    if (!is_new) {
      throw DataError("{}: \"{}\" is \"{}\", which {} has already; expected each id once",
                      record.where, layout.id_field, set.ids.back(), first->second->where);
    }
  }
}

RecordSet ReadPool(const std::string& task, const DataSource& data, const DatasetLayout& layout,
                   const std::string& from) {
  if (!from.empty()) {
    const fs::path file = fs::exists(from) ? fs::path(from) : data.root() / from;
    if (!fs::exists(file)) {
      throw UsageError(
          "--fewshot-from: no file '{}', neither here nor in {}; expected a file in the "
          "layout of {}, or first:N",
          from, data.root().string(), layout.dataset);
    }
    return ReadSplit(data, layout, {file});
  }
  if (layout.pools.empty()) {
    throw UsageError("task {}: the protocol has no few-shot examples; leave --num-fewshot out",
                     task);
  }
  const SplitFiles& pool = layout.pools.front();
  const auto files = data.FindAll(pool.candidates);
  if (files.empty()) {
    throw DataError(
        "task {}: few-shot examples come from the {} split of {}, which is missing in {}; looked "
        "for "
        "{}. Get it, or name another pool: --fewshot-from FILE, or --fewshot-from first:N for the "
        "first N records of the evaluated file",
        task, pool.split, layout.dataset, data.root().string(), fmt::join(pool.candidates, ", "));
  }
  return ReadSplit(data, layout, files);
}

}  // namespace

DocumentSet LoadDocuments(const std::string& task, const DataSource& data,
                          const DatasetLayout& layout, const TaskOptions& options) {
  DocumentSet set;
  const FewShotOptions& few_shot = options.few_shot;
  RecordSet evaluated =
      ReadSplit(data, layout, data.RequireAll(layout.dataset, layout.evaluated.candidates));
  const std::string first_file = data.Show(evaluated.files.front());
  if (evaluated.records.empty()) {
    throw DataError("{}: no record in the file, expected at least one", first_file);
  }
  set.documents = std::move(evaluated.records);
  std::string hashes = evaluated.sha256;
  const bool shots = few_shot.count.value_or(0) > 0;
  const auto first = FirstRecords(few_shot.from);
  if (first) {
    // The split stays the same whatever the number of shots, so that runs are comparable.
    if (*first >= core::Size(set.documents)) {
      throw DataError(
          "--fewshot-from first:{}: {} has only {} records, and some must be left to "
          "evaluate",
          *first, first_file, set.documents.size());
    }
    const auto middle = set.documents.begin() + static_cast<ptrdiff_t>(*first);
    set.pool.assign(set.documents.begin(), middle);
    set.documents.erase(set.documents.begin(), middle);
    set.few_shot_source = few_shot.from;
  } else if (shots) {
    RecordSet pool = ReadPool(task, data, layout, few_shot.from);
    set.few_shot_source = few_shot.from.empty() ? layout.pools.front().split : few_shot.from;
    hashes += pool.sha256;
    set.pool = std::move(pool.records);
  }
  set.fingerprint = hashes == evaluated.sha256 ? hashes : core::Sha256Hex(hashes);
  SetIds(layout, set);
  FewShotDraw draw = DrawFewShot(task,
                                 {.documents = core::Size(set.documents),
                                  .pool = core::Size(set.pool),
                                  .removes_document = layout.removes_document},
                                 few_shot, [&](int64_t document, int64_t index) {
                                   return *set.documents[static_cast<size_t>(document)].value ==
                                          *set.pool[static_cast<size_t>(index)].value;
                                 });
  set.examples = std::move(draw.examples);
  if (draw.leaks > 0) {
    set.warnings.push_back(
        fmt::format("task {}: {} of {} documents stand among their own few-shot examples, as the "
                    "protocol draws "
                    "them; --fewshot-exclude leaves them out",
                    task, draw.leaks, set.documents.size()));
  }
  return set;
}

RecordSet ConvertRecords(RecordSet set,
                         const std::function<core::Json(const core::JsonObject&)>& convert) {
  core::ParallelFor(core::Size(set.records), 0, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      Record& record = set.records[static_cast<size_t>(i)];
      const core::JsonObject object(*record.value, record.where, ErrorCode::kData);
      record.value = std::make_shared<core::Json>(convert(object));
    }
  });
  return set;
}

RecordSet ReadTextLines(const DataSource& data, const fs::path& file) {
  const std::string text = data.ReadText(file);
  const std::string name = data.Show(file);
  RecordSet set;
  set.files = {file};
  set.sha256 = core::Sha256Hex(text);
  int64_t number = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = std::string_view(text).substr(begin, end - begin);
    if (line.ends_with('\r')) line.remove_suffix(1);
    ++number;
    begin = end + 1;
    if (core::PythonStrip(line).empty()) continue;
    core::Json record;
    record["text"] = line;
    set.records.push_back(
        {std::make_shared<core::Json>(std::move(record)), fmt::format("{}:{}", name, number)});
  }
  if (set.records.empty()) throw DataError("{}: the file is empty, expected lines of text", name);
  return set;
}

std::vector<std::string> ReadLabels(const DataSource& data, RecordSet& set) {
  std::vector<std::string> labels;
  const std::vector<fs::path> files = set.files;
  for (const fs::path& file : files) {
    std::string stem = file.filename().string();
    stem = stem.substr(0, stem.find('.'));
    fs::path labels_file = file.parent_path() / (stem + "-labels.lst");
    std::error_code error;
    if (!fs::is_regular_file(labels_file, error)) {
      throw DataError(
          "{}: the records have no label and {} is missing; a split without labels (test) can't be "
          "evaluated",
          data.Show(file), data.Show(labels_file));
    }
    const std::string text = data.ReadText(labels_file);
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = std::min(text.find('\n', begin), text.size());
      const auto line = core::PythonStrip(std::string_view(text).substr(begin, end - begin));
      if (!line.empty() || end < text.size()) labels.emplace_back(line);
      begin = end + 1;
    }
    set.sha256 = core::Sha256Hex(set.sha256 + core::Sha256Hex(text));
    set.files.push_back(std::move(labels_file));
  }
  if (labels.size() != set.records.size()) {
    throw DataError("{}: {} labels, expected one for each of the {} records of {}",
                    data.Show(set.files.back()), labels.size(), set.records.size(),
                    data.Show(files.front()));
  }
  return labels;
}

}  // namespace natsl::tasks
