// Ids and texts of published tokenizers equal the reference implementations', line by line.
#include <gtest/gtest.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <string>

#include "core/json.h"
#include "model_adapters/tokenizer.h"

namespace natsl::model_adapters {
namespace {

namespace fs = std::filesystem;

struct Case {
  const char* golden;
  const char* file;
};

class GoldenTokenizer : public testing::TestWithParam<Case> {};

TEST_P(GoldenTokenizer, EveryLineEqual) {
  const fs::path shared = NATSL_SOURCE_DIR "/../shared";
  const fs::path golden = shared / "golden/tokenizers" / GetParam().golden;
  const fs::path file = shared / "data/tokenizers" / GetParam().file;
  if (!fs::exists(golden) || !fs::exists(file)) {
    GTEST_SKIP() << golden << " or " << file << " is not there";
  }
  const auto tokenizer = OpenTokenizer(file);
  std::ifstream lines(golden);
  int64_t count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    const core::Json expected = core::ParseJson(line, golden.string(), ErrorCode::kData);
    const auto text = expected["text"].get<std::string>();
    const auto ids = expected["ids"].get<std::vector<TokenId>>();
    EXPECT_EQ(tokenizer->Encode(text, false), ids) << "line " << count + 1 << ": " << line;
    if (expected.contains("ids_special")) {
      EXPECT_EQ(tokenizer->Encode(text, true), expected["ids_special"].get<std::vector<TokenId>>())
          << "line " << count + 1;
    }
    EXPECT_EQ(tokenizer->Decode(ids, false), expected["decoded"].get<std::string>())
        << "line " << count + 1;
  }
  EXPECT_GE(count, 100);
}

INSTANTIATE_TEST_SUITE_P(
    Published, GoldenTokenizer,
    testing::Values(
        Case{"gpt2.json.jsonl", "gpt2/tokenizer.json"}, Case{"gpt2.json.jsonl", "gpt2"},
        Case{"gpt-neox.json.jsonl", "gpt-neox/20B_tokenizer.json"},
        Case{"llama3.json.jsonl", "llama3/tokenizer.json.gz"}, Case{"llama3.json.jsonl", "llama3"},
        Case{"qwen3.json.jsonl", "qwen3/tokenizer.json.gz"}, Case{"qwen3.json.jsonl", "qwen3"},
        Case{"mistral-v1.json.jsonl", "mistral-v1/tokenizer.json"},
        Case{"mistral-v1.json.jsonl", "mistral-v1"},
        Case{"albert.json.jsonl", "albert/tokenizer.json.gz"},
        Case{"mistral-v1.model.jsonl", "mistral-v1/tokenizer.model"},
        Case{"llama2.model.jsonl", "llama2/tokenizer.model"}, Case{"llama2.model.jsonl", "llama2"},
        Case{"albert.model.jsonl", "albert/spiece.model"}),
    [](const auto& info) {
      std::string name = info.param.file;
      for (char& c : name) {
        if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
      }
      return name;
    });

}  // namespace
}  // namespace natsl::model_adapters
