// Where tasks read their documents: a data folder, by dataset name and split.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
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
  std::string sha256;                        ///< over their bytes
};

class DataSource {
 public:
  explicit DataSource(std::filesystem::path root) : root_(std::move(root)) {}

  const std::filesystem::path& root() const { return root_; }
  /// First of the candidate paths (relative to the root) that exists; nothing otherwise.
  std::optional<std::filesystem::path> Find(const std::vector<std::string>& candidates) const;
  /// As Find, or an Error (data) that lists where was looked and how to get the dataset.
  std::filesystem::path Require(const std::string& dataset,
                                const std::vector<std::string>& candidates) const;
  /// Reads JSONL, JSON (a list, or an object), their .gz / .zst forms, and Parquet, by ending.
  RecordSet Read(const std::filesystem::path& file) const;

 private:
  std::filesystem::path root_;
};

}  // namespace natsl::tasks
