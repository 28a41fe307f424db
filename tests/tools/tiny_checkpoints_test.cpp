// The sample models in samples/models are what the generator makes, byte for byte, and open.
#include "tools/tiny_checkpoints/tiny_checkpoints.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "core/files.h"
#include "core/json.h"
#include "model_adapters/spec/checkpoint.h"

namespace natsl::tools {
namespace {

std::filesystem::path Samples() {
  return std::filesystem::path(NATSL_SOURCE_DIR) / "samples" / "models";
}

TEST(TinyCheckpoints, CommittedFilesAreTheGeneratorsBytes) {
  const auto files = TinyCheckpointFiles();
  EXPECT_EQ(files.size(), 12u);
  for (const auto& [name, content] : files) {
    SCOPED_TRACE(name);
    EXPECT_TRUE(core::ReadFile(Samples() / name, ErrorCode::kData) == content);
  }
}

TEST(TinyCheckpoints, OpenAndAreSmall) {
  for (const char* name : {"tiny-transformer", "tiny-gdn-hybrid", "tiny-natsl-hybrid"}) {
    SCOPED_TRACE(name);
    const model_adapters::Checkpoint checkpoint(Samples() / name);
    EXPECT_EQ(checkpoint.spec().layers.size(), 4u);
    EXPECT_EQ(checkpoint.spec().vocabulary, 512);
    EXPECT_EQ(checkpoint.spec().max_positions, 2048);
    EXPECT_EQ(checkpoint.spec().ignored_keys, std::vector<std::string>{});
    EXPECT_EQ(checkpoint.Weight("embeddings.weight").dtype, core::DType::kBFloat16);
    int64_t bytes = 0;
    for (const auto& entry : std::filesystem::directory_iterator(Samples() / name)) {
      bytes += static_cast<int64_t>(entry.file_size());
    }
    EXPECT_LT(bytes, 1'000'000);
  }
}

TEST(TinyCheckpoints, MixersAreTheHybridsOnes) {
  using namespace model_adapters;
  const Checkpoint natsl(Samples() / "tiny-natsl-hybrid");
  EXPECT_TRUE(std::holds_alternative<DeltaNetSpec>(natsl.spec().layers[0].mixer));
  EXPECT_TRUE(std::holds_alternative<NatsSpec>(natsl.spec().layers[1].mixer));
  EXPECT_TRUE(std::holds_alternative<DeltaNetSpec>(natsl.spec().layers[2].mixer));
  EXPECT_TRUE(std::holds_alternative<NatsSpec>(natsl.spec().layers[3].mixer));
  const Checkpoint gdn(Samples() / "tiny-gdn-hybrid");
  EXPECT_TRUE(std::holds_alternative<DeltaNetSpec>(gdn.spec().layers[2].mixer));
  EXPECT_TRUE(std::holds_alternative<AttentionSpec>(gdn.spec().layers[3].mixer));
}

TEST(TinyCheckpoints, TokenizerHasAllIdsOnce) {
  const core::Json tokenizer =
      core::ParseJson(TinyCheckpointFiles().at("tiny-transformer/tokenizer.json"), "tokenizer",
                      ErrorCode::kData, {.unique_keys = true});
  const core::Json& vocabulary = tokenizer["model"]["vocab"];
  ASSERT_EQ(vocabulary.size(), 512u);
  std::vector<bool> seen(512);
  for (const auto& [token, id] : vocabulary.items()) seen[id.get<size_t>()] = true;
  EXPECT_EQ(std::ranges::count(seen, true), 512);
  EXPECT_EQ(tokenizer["model"]["merges"].size(), 512u - 3 - 256);
  EXPECT_EQ(vocabulary["\u0120the"].is_number(), true);  // a frequent word is one token
  EXPECT_EQ(vocabulary["<|bos|>"], 1);
  EXPECT_EQ(vocabulary["<|eos|>"], 2);
}

}  // namespace
}  // namespace natsl::tools
