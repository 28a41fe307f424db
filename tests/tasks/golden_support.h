// Golden requests and scores of the reference harness, as tests compare them: reading the files
// beside the repository, and cutting data files down to the records a golden was made of.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "core/files.h"
#include "core/json.h"
#include "tasks/data_source.h"
#include "tasks/registry.h"

namespace natsl::tasks::testing {

namespace fs = std::filesystem;

inline fs::path SharedFolder() { return fs::path(NATSL_SOURCE_DIR) / ".." / "shared"; }
inline fs::path SamplesFolder() { return fs::path(NATSL_SOURCE_DIR) / "samples" / "data"; }

/// A folder that goes away with the object.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (fs::temp_directory_path() / "natsl-tasks-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code error;
    fs::remove_all(path_, error);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const fs::path& path() const { return path_; }
  void Write(const std::string& name, const std::string& content) const {
    fs::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << content;
  }
  /// The first `lines` lines of a file.
  void WriteHead(const std::string& name, const fs::path& source, int64_t lines) const {
    std::ifstream in(source, std::ios::binary);
    std::string head;
    std::string line;
    for (int64_t i = 0; i < lines && std::getline(in, line); ++i) head += line + '\n';
    Write(name, head);
  }

 private:
  fs::path path_;
};

/// All lines of a golden file (.jsonl.gz).
inline std::vector<Record> ReadGolden(const fs::path& file) {
  return DataSource(file.parent_path()).Read(file).records;
}

/// The answer a golden line holds, as the model's response.
inline Response ResponseOf(const core::Json& line) {
  const std::string type = line.at("type");
  if (type == "loglikelihood") {
    LoglikelihoodResult result;
    result.log_prob = line.at("logprob");
    result.is_greedy = line.at("is_greedy");
    return result;
  }
  if (type == "loglikelihood_rolling") {
    RollingResult result;
    result.log_prob = line.at("logprob");
    return result;
  }
  GenerateResult result;
  result.text = line.at("output");
  return result;
}

/// Checks a task against a golden file from its first document on: request strings, targets, and
/// the metrics of each document from the reference's own answers.
inline void ExpectGolden(const Task& task, const std::vector<Record>& golden) {
  size_t line = 0;
  int64_t index = 0;
  for (; line < golden.size(); ++index) {
    ASSERT_LT(index, task.DocumentCount());
    const DocumentRequests document = task.Requests(index);
    std::vector<Response> responses;
    for (size_t request = 0; request < document.requests.size(); ++request, ++line) {
      ASSERT_LT(line, golden.size());
      const core::Json& expected = *golden[line].value;
      SCOPED_TRACE(golden[line].where);
      ASSERT_EQ(document.doc_id, expected.at("doc_id").get<int64_t>());
      ASSERT_EQ(static_cast<int64_t>(request), expected.at("request").get<int64_t>());
      if (const auto* pair = std::get_if<LoglikelihoodRequest>(&document.requests[request])) {
        ASSERT_EQ(expected.at("type"), "loglikelihood");
        ASSERT_EQ(pair->context, expected.at("context").get<std::string>());
        ASSERT_EQ(pair->continuation, expected.at("continuation").get<std::string>());
      } else if (const auto* text = std::get_if<RollingRequest>(&document.requests[request])) {
        ASSERT_EQ(expected.at("type"), "loglikelihood_rolling");
        ASSERT_EQ(text->text, expected.at("continuation").get<std::string>());
      } else {
        const auto& generate = std::get<GenerateRequest>(document.requests[request]);
        ASSERT_EQ(expected.at("type"), "generate_until");
        ASSERT_EQ(generate.prompt, expected.at("context").get<std::string>());
      }
      responses.push_back(ResponseOf(expected));
    }
    const core::Json& last = *golden[line - 1].value;
    SCOPED_TRACE(golden[line - 1].where);
    if (last.at("target").is_string()) {
      ASSERT_EQ(document.target, last.at("target").get<std::string>());
    }
    const SampleScore score = task.Score(index, responses);
    std::map<std::string, std::vector<double>> scored;
    for (const SampleMetric& metric : score.metrics) scored[metric.name] = metric.values;
    for (const auto& [name, value] : last.at("metrics_of_doc").items()) {
      ASSERT_TRUE(scored.contains(name)) << name;
      const std::vector<double> expected = value.is_array()
                                               ? value.get<std::vector<double>>()
                                               : std::vector<double>{value.get<double>()};
      ASSERT_EQ(scored[name], expected) << name;
    }
    ASSERT_EQ(scored.size(), last.at("metrics_of_doc").size());
  }
}

}  // namespace natsl::tasks::testing
