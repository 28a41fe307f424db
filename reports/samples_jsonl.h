// samples_<task>.jsonl: one row a document and filter, in lm-evaluation-harness's shape, with our
// keys behind: id, tokens, truncated_tokens, finish.
#pragma once

#include <filesystem>
#include <string>

#include "reports/run_record.h"

namespace natsl::reports {

/// "samples_piqa.jsonl".
std::string SamplesFileName(const std::string& task);

/// One row, without the line's end.
std::string SampleLine(const SampleRecord& sample);

/// Which rows are kept.
enum class LogSamples { kAll, kWrong, kNone };

/// Collects a task's rows and puts the file in place at once when finished.
class SamplesWriter {
 public:
  SamplesWriter(std::filesystem::path file, LogSamples which);
  void Add(const SampleRecord& sample);
  /// Nothing is written with kNone.
  void Finish();

 private:
  std::filesystem::path file_;
  LogSamples which_;
  std::string content_;
};

}  // namespace natsl::reports
