// Where tasks read their documents: a data folder, by candidate paths, and the readers of its
// files.
#pragma once

#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"

namespace natsl::tasks {

/// One record of a data file and where it stands ("piqa/valid.jsonl:812").
struct Record {
  std::shared_ptr<const nlohmann::ordered_json> value;
  std::string where;
};

/// The records of one file or split, in file order.
struct RecordSet {
  std::vector<Record> records;
  std::vector<std::filesystem::path> files;  ///< that were read
  std::string sha256;                        ///< over their bytes as stored
};

/// A candidate is a path relative to the root ("piqa/valid.jsonl"), or a hub pattern
/// "hub:ORG/NAME:GLOB": files of that dataset's snapshot in a Hugging Face cache, GLOB relative to
/// the snapshot, `*` within a path component ("hub:baber/piqa:plain_text/validation-*.parquet").
/// The cache is looked for in the root itself, root/hub, and the user's own (HF_HUB_CACHE,
/// HF_HOME/hub, ~/.cache/huggingface/hub). Plain candidates are also tried with .gz and .zst.
class DataSource {
 public:
  explicit DataSource(std::filesystem::path root) : root_(std::move(root)) {}

  const std::filesystem::path& root() const { return root_; }
  /// First of the candidates that exists (of a pattern: its first file); nothing otherwise.
  std::optional<std::filesystem::path> Find(const std::vector<std::string>& candidates) const;
  /// All files of the first candidate that exists, sorted by name (shards); empty if none does.
  std::vector<std::filesystem::path> FindAll(const std::vector<std::string>& candidates) const;
  /// As Find, or an Error (data) that lists where was looked and how to get the dataset.
  std::filesystem::path Require(const std::string& dataset,
                                const std::vector<std::string>& candidates) const;
  std::vector<std::filesystem::path> RequireAll(const std::string& dataset,
                                                const std::vector<std::string>& candidates) const;

  /// Reads JSONL (.jsonl, .ndjson), JSON (.json: a list gives one record an item, an object is one
  /// record; one value a line is read as JSONL), their .gz / .zst forms, and Parquet, by ending.
  /// Errors (data): unreadable, not UTF-8, not JSON ("file:line: ..."), or no record at all.
  RecordSet Read(const std::filesystem::path& file) const;
  /// The files one after the other.
  RecordSet Read(const std::vector<std::filesystem::path>& files) const;
  /// The text of a file, decompressed by its ending. Error (data) where it isn't UTF-8.
  std::string ReadText(const std::filesystem::path& file) const;
  /// The path as errors show it: relative to the root where it lies below it.
  std::string Show(const std::filesystem::path& file) const;

 private:
  std::filesystem::path root_;
};

/// One record an entry from JSONL text: blank lines are skipped, `where` is "name:line".
std::vector<Record> ParseJsonLines(std::string_view text, const std::string& name);

}  // namespace natsl::tasks
