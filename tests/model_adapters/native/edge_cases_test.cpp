// Hand-made requests of all three kinds against the reference's answers: empty contexts, white
// space and merges at the boundary, special tokens in the text, truncation, windows, stop strings.
#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/json.h"
#include "model_adapters/native/native_model.h"
#include "model_adapters/tokenized_model.h"

namespace natsl::model_adapters::native {
namespace {

namespace fs = std::filesystem;
using core::Json;

const fs::path kShared = fs::path(NATSL_SOURCE_DIR) / "../shared";

std::vector<Json> Lines(const fs::path& file) {
  std::string text;
  const gzFile in = gzopen(file.c_str(), "rb");
  char buffer[65536];
  for (int n = 0; (n = gzread(in, buffer, sizeof(buffer))) > 0;) {
    text.append(buffer, static_cast<size_t>(n));
  }
  gzclose(in);
  std::vector<Json> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(Json::parse(line));
  return lines;
}

class EdgeCases : public ::testing::Test {
 protected:
  void SetUp() override {
    const fs::path golden = kShared / "golden/lm_eval/edge_cases.jsonl.gz";
    const fs::path model = kShared / "data/models/stories260K-hf";
    if (!fs::exists(golden) || !fs::exists(model)) {
      GTEST_SKIP() << "EdgeCases needs " << golden << " and " << model;
    }
    cases_ = Lines(golden);
    // The reference's run gave the checkpoint's tokenizer its special tokens.
    fs::copy(model, folder_);
    std::ofstream(folder_ / "tokenizer_config.json")
        << R"({"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>",)"
        << R"( "eos_token": "</s>", "unk_token": "<unk>"})";
    OpenOptions options;
    options.max_length = 512;
    model_ = MakeTokenizedModel(OpenModel(folder_.string(), options), OpenTokenizer(folder_),
                                TextOptions{});
  }
  ~EdgeCases() override { fs::remove_all(folder_); }

  std::vector<Json> OfType(const std::string& type) const {
    std::vector<Json> chosen;
    for (const Json& line : cases_) {
      if (line["type"] == type) chosen.push_back(line);
    }
    return chosen;
  }

  fs::path folder_ = fs::temp_directory_path() / fmt::format("natsl-edge-{}", ::getpid());
  std::vector<Json> cases_;
  std::unique_ptr<LanguageModel> model_;
  BatchListener all_;
};

TEST_F(EdgeCases, Loglikelihood) {
  const std::vector<Json> cases = OfType("loglikelihood");
  std::vector<LoglikelihoodRequest> requests;
  for (const Json& c : cases) requests.push_back({c["context"], c["continuation"]});
  std::vector<LoglikelihoodResult> results(requests.size());
  model_->Loglikelihood(requests, results, all_);
  ASSERT_GE(cases.size(), 40u);
  for (size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(cases[i].dump());
    ASSERT_FALSE(results[i].error.has_value()) << *results[i].error;
    if (cases[i].contains("error")) {
      // The reference stops here, a merge left it nothing to score: we score the merged token.
      EXPECT_EQ(results[i].output_tokens, 1);
      continue;
    }
    // Two requests of one call share a row in the reference; alone they are right.
    const bool alone = cases[i].contains("logprob_alone");
    EXPECT_NEAR(results[i].log_prob, cases[i][alone ? "logprob_alone" : "logprob"].get<double>(),
                1e-3);
    if (!cases[i].contains("known_defect")) {
      EXPECT_EQ(results[i].is_greedy, cases[i]["is_greedy"].get<bool>());
    }
    EXPECT_EQ(results[i].context_tokens, std::ssize(cases[i]["context_ids"]));
    EXPECT_EQ(results[i].output_tokens, std::ssize(cases[i]["continuation_ids"]));
    EXPECT_EQ(results[i].truncated_tokens, cases[i].value("dropped_ids", 0));
  }
}

TEST_F(EdgeCases, Rolling) {
  const std::vector<Json> cases = OfType("loglikelihood_rolling");
  std::vector<RollingRequest> requests;
  for (const Json& c : cases) requests.push_back({c["continuation"], {}});
  std::vector<RollingResult> results(requests.size());
  model_->LoglikelihoodRolling(requests, results, all_);
  ASSERT_GE(cases.size(), 10u);
  for (size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(cases[i]["case"].dump());
    const double expected = cases[i]["logprob"];
    EXPECT_NEAR(results[i].log_prob, expected, 1e-3 * std::max(1.0, std::fabs(expected) / 1000));
    EXPECT_EQ(results[i].output_tokens, std::ssize(cases[i]["continuation_ids"]));
  }
}

TEST_F(EdgeCases, Generation) {
  const std::vector<Json> cases = OfType("generate_until");
  std::vector<GenerateRequest> requests;
  for (const Json& c : cases) {
    GenerateRequest request;
    request.prompt = c["context"];
    const Json& settings = c["gen_kwargs"];
    if (settings.contains("until")) {
      const Json& until = settings["until"];
      if (until.is_string()) {
        request.stop = {until};
      } else {
        request.stop = until.get<std::vector<std::string>>();
      }
    }
    request.max_new_tokens = c["max_gen_toks"];
    requests.push_back(std::move(request));
  }
  std::vector<GenerateResult> results(requests.size());
  model_->GenerateUntil(requests, results, all_);
  ASSERT_GE(cases.size(), 20u);
  for (size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(cases[i].dump());
    ASSERT_FALSE(results[i].error.has_value()) << *results[i].error;
    EXPECT_EQ(results[i].text, cases[i]["output"].get<std::string>());
    EXPECT_EQ(results[i].context_tokens, std::ssize(cases[i]["context_ids"]));
    EXPECT_EQ(results[i].truncated_tokens, cases[i].value("dropped_ids", 0));
  }
}

}  // namespace
}  // namespace natsl::model_adapters::native
