// Wrong data files and the one error that each must lead to, as tables of tests hold them.
#pragma once

#include <algorithm>
#include <map>

#include "tests/tasks/golden_support.h"

namespace natsl::tasks::testing {

struct File {
  const char* name;
  std::string content;
};

struct BadInput {
  const char* name;
  const char* task;
  std::vector<File> files;
  std::string message;  ///< the error, or its beginning where it ends in "..."
  int64_t shots = 0;
  const char* from = "";
  ErrorCode code = ErrorCode::kData;
  std::map<std::string, std::string> parameters = {};
};

/// Loading the task fails with exactly that error.
inline void ExpectBadInput(const BadInput& param) {
  TemporaryFolder folder;
  for (const File& file : param.files) folder.Write(file.name, file.content);
  TaskOptions options;
  options.few_shot.count = param.shots;
  options.few_shot.from = param.from;
  options.parameters = param.parameters;
  options.count_tokens = [](const std::string& text) {
    return static_cast<int64_t>(std::count(text.begin(), text.end(), ' ') + 1);
  };
  try {
    FindTask(param.task).load(DataSource(folder.path()), options);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), param.code);
    std::string found = error.what();
    std::string expected = param.message;
    // The folder's name differs from run to run.
    const std::string root = folder.path().string();
    for (size_t at; (at = found.find(root)) != std::string::npos;)
      found.replace(at, root.size(), "ROOT");
    if (expected.ends_with("...")) {
      expected.resize(expected.size() - 3);
      found.resize(std::min(found.size(), expected.size()));
    }
    EXPECT_EQ(found, expected);
  }
}

}  // namespace natsl::tasks::testing
