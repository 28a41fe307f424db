// examples/process_transformers.py against lm-evaluation-harness's answers to the same requests.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/error.h"
#include "core/json.h"
#include "model_adapters/remote/process_model.h"

namespace natsl::model_adapters {
namespace {

namespace fs = std::filesystem;

std::vector<core::Json> GoldenRows(const fs::path& file, size_t count) {
  gzFile stream = gzopen(file.c_str(), "rb");
  std::string text(1 << 20, '\0');
  const int got = gzread(stream, text.data(), 1 << 20);
  gzclose(stream);
  text.resize(static_cast<size_t>(std::max(got, 0)));
  std::vector<core::Json> rows;
  std::istringstream lines(text);
  for (std::string line; rows.size() < count && std::getline(lines, line);) {
    rows.push_back(core::Json::parse(line));
  }
  return rows;
}

TEST(ProcessExampleTest, AnswersAsTheHarness) {
  const fs::path shared = fs::path(NATSL_SOURCE_DIR) / ".." / "shared";
  const fs::path checkpoint = shared / "data/models/stories260K-hf";
  const fs::path golden = shared / "golden/lm_eval";
  if (!fs::exists(checkpoint) || !fs::exists(golden)) {
    GTEST_SKIP() << "../shared/data/models/stories260K-hf or ../shared/golden isn't there";
  }
  if (std::system("python3 -c 'import torch, transformers' >/dev/null 2>&1") != 0) {
    GTEST_SKIP() << "python3 has no packages torch and transformers";
  }
  const fs::path folder = fs::temp_directory_path() / fmt::format("natsl_example_{}", ::getpid());
  fs::create_directories(folder);
  for (const char* name : {"config.json", "model.safetensors", "tokenizer.json"}) {
    fs::copy_file(checkpoint / name, folder / name, fs::copy_options::overwrite_existing);
  }
  // The start token's name, which the goldens' tokenizer had too.
  std::ofstream(folder / "tokenizer_config.json")
      << R"({"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "eos_token": "</s>"})";
  {
    const auto model =
        OpenProcessModel(fmt::format("process:python3 {}/examples/process_transformers.py {}",
                                     NATSL_SOURCE_DIR, folder.string()));
    BatchListener listener;
    const auto scored = GoldenRows(golden / "piqa.jsonl.gz", 20);
    ASSERT_EQ(scored.size(), 20U);
    std::vector<LoglikelihoodRequest> requests;
    for (const core::Json& row : scored) {
      requests.push_back(
          {row["context"].get<std::string>(), row["continuation"].get<std::string>()});
    }
    std::vector<LoglikelihoodResult> results(requests.size());
    model->Loglikelihood(requests, results, listener);
    for (size_t i = 0; i < requests.size(); ++i) {
      EXPECT_EQ(results[i].error, std::nullopt);
      EXPECT_NEAR(results[i].log_prob, scored[i]["logprob"].get<double>(), 1e-3) << i;
      EXPECT_EQ(results[i].is_greedy, scored[i]["is_greedy"].get<bool>()) << i;
    }
  }
  fs::remove_all(folder);
}

}  // namespace
}  // namespace natsl::model_adapters
