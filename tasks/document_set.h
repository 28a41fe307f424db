// Documents of a task from a published dataset: finding the split's files, turning their records
// into the protocol's columns, and drawing few-shot examples. Shared by all tasks over datasets.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tasks/data_source.h"
#include "tasks/task.h"

namespace natsl::core {
class JsonObject;
}

namespace natsl::tasks {

/// Files of one split, in every layout known; see DataSource for the candidates' form.
struct SplitFiles {
  std::string split;
  std::vector<std::string> candidates;
};

/// How a dataset's files become documents with the columns the protocol's prompts use.
struct DatasetLayout {
  std::string dataset;  ///< manifest name
  SplitFiles evaluated;
  std::vector<SplitFiles> pools;  ///< few-shot pool: the first of these that the protocol has
  /// Reads files into records in the protocol's columns. Empty: DataSource::Read as it is.
  std::function<RecordSet(const DataSource&, const std::vector<std::filesystem::path>&)> read;
  /// A field that must be unique; "" none. Becomes DocumentRequests::id where present.
  std::string id_field;
  /// Set where the protocol evaluates a split that isn't its test split (see FewShotSizes).
  bool removes_document = false;
};

/// What a dataset task holds after loading.
struct DocumentSet {
  std::vector<Record> documents;               ///< evaluated, in file order; never empty
  std::vector<std::string> ids;                ///< [documents]
  std::vector<Record> pool;                    ///< empty at 0 shots
  std::vector<std::vector<int32_t>> examples;  ///< [documents] indices into the pool, as shown
  std::string fingerprint;                     ///< SHA-256 over all files read
  std::vector<std::string> warnings;
  std::string few_shot_source;  ///< for reports: "train", "first:20", a file
};

/// Loads by `options.few_shot` (count, from, sampler, seed, exclude). Throws Error (data; usage for
/// a `from` that can't be read as one).
DocumentSet LoadDocuments(const std::string& task, const DataSource& data,
                          const DatasetLayout& layout, const TaskOptions& options);

/// Every record turned by `convert`, in parallel; files and hash are kept.
RecordSet ConvertRecords(
    RecordSet set, const std::function<nlohmann::ordered_json(const core::JsonObject&)>& convert);

/// Plain text with one record a line, as records {"text": line}; blank lines are skipped.
RecordSet ReadTextLines(const DataSource& data, const std::filesystem::path& file);

/// Labels beside a data file: "valid.jsonl" has "valid-labels.lst", one a line. Throws Error (data)
/// where the file is missing or has not one label a record. Adds the file to `set`.
std::vector<std::string> ReadLabels(const DataSource& data, RecordSet& set);

}  // namespace natsl::tasks
