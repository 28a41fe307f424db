// What lies beside a tokenizer in a folder, and how a folder and a file are opened.
#include <gtest/gtest.h>
#include <zlib.h>

#include "model_adapters/tokenizers/inflate.h"
#include "tests/model_adapters/tokenizers/support.h"

namespace natsl::model_adapters {
namespace {

std::string Gzip(const std::string& content) {
  z_stream stream{};
  deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string out(content.size() + 200, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

class Folder : public testing::Test {
 protected:
  Folder() {
    folder_.Write("tokenizer.json", TinyBpe(R"("added_tokens": [
      {"id": 20, "content": "<s>", "special": true}, {"id": 21, "content": "</s>", "special": true}],
      "post_processor": {"type": "BertProcessing", "sep": ["h", 0], "cls": ["e", 1]},)"));
  }

  std::shared_ptr<const Tokenizer> Open() const { return OpenTokenizer(folder_.path()); }
  void Config(std::string_view json) const { folder_.Write("tokenizer_config.json", json); }
  std::string Message() const {
    try {
      Open();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kModel);
      return error.what();
    }
    return "no error";
  }

  TemporaryFolder folder_;
};

TEST_F(Folder, NothingBesideIt) {
  EXPECT_EQ(Open()->Encode("he", true), (Ids{1, 10, 0}));
  EXPECT_FALSE(Open()->special_tokens().bos);
  EXPECT_FALSE(Open()->model_max_length());
}

TEST_F(Folder, AddBosAndEosReplaceThePostProcessor) {
  Config(R"({"add_bos_token": true, "add_eos_token": false, "bos_token": "<s>",
             "eos_token": {"content": "</s>", "lstrip": false}, "model_max_length": 512})");
  EXPECT_EQ(Open()->Encode("he", true), (Ids{20, 10}));
  EXPECT_EQ(Open()->special_tokens().bos, 20);
  EXPECT_EQ(Open()->special_tokens().eos, 21);
  EXPECT_EQ(Open()->model_max_length(), 512);
  Config(R"({"add_eos_token": true, "bos_token": "<s>", "eos_token": "</s>"})");
  EXPECT_EQ(Open()->Encode("he", true), (Ids{10, 21}));
  Config(R"({"add_bos_token": false})");
  EXPECT_EQ(Open()->Encode("he", true), (Ids{10}));
}

TEST_F(Folder, HugeLengthIsNone) {
  Config(R"({"model_max_length": 1000000000000000019884624838656})");
  EXPECT_FALSE(Open()->model_max_length());
}

TEST_F(Folder, CustomaryTokensOfAClass) {
  Config(R"({"tokenizer_class": "LlamaTokenizerFast"})");
  EXPECT_EQ(Open()->special_tokens().bos, 20);
  EXPECT_EQ(Open()->special_tokens().eos, 21);
  EXPECT_EQ(Open()->Encode("he", true), (Ids{1, 10, 0}));  // the post-processor is there
}

TEST_F(Folder, TokensMapAndModelConfigFillIn) {
  folder_.Write("config.json", R"({"bos_token_id": 3, "eos_token_id": [21, 5]})");
  EXPECT_EQ(Open()->special_tokens().bos, 3);
  EXPECT_EQ(Open()->special_tokens().eos, 21);
  folder_.Write("special_tokens_map.json", R"({"bos_token": {"content": "<s>"}})");
  EXPECT_EQ(Open()->special_tokens().bos, 20);
  // What is said to be none stays none.
  Config(R"({"bos_token": null})");
  EXPECT_FALSE(Open()->special_tokens().bos);
  EXPECT_EQ(Open()->special_tokens().eos, 21);
}

TEST_F(Folder, MoreAddedTokens) {
  Config(R"({"added_tokens_decoder": {"22": {"content": "<y>", "special": true},
             "20": {"content": "<s>", "special": true}}})");
  EXPECT_EQ(Open()->Encode("he<y>", false), (Ids{10, 22}));
  EXPECT_EQ(Open()->vocabulary_size(), 23);
}

TEST_F(Folder, CleanUpIsNotForBpe) {
  Config(R"({"clean_up_tokenization_spaces": true})");
  EXPECT_EQ(Open()->Decode(Ids{10, 4, 17, 4}, false), "he ' ");
  Config(R"({"clean_up_tokenization_spaces": true,
             "clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output": true})");
  EXPECT_EQ(Open()->Decode(Ids{10, 4, 17, 4}, false), "he'");
  folder_.Write("tokenizer.json", Around(R"({"type": "WordLevel", "unk_token": "[UNK]",
      "vocab": {"[UNK]": 0, "he": 1, "!": 2}})"));
  EXPECT_EQ(Open()->Decode(Ids{1, 2}, false), "he!");
}

TEST_F(Folder, WrongFilesBesideIt) {
  Config("{");
  EXPECT_NE(Message().find("tokenizer_config.json"), std::string::npos) << Message();
  Config(R"({"add_bos_token": "yes"})");
  EXPECT_NE(Message().find("\"add_bos_token\" is \"yes\""), std::string::npos) << Message();
  Config(R"({"bos_token": 5})");
  EXPECT_NE(Message().find("bos_token"), std::string::npos) << Message();
  Config(R"({"bos_token": "<nowhere>"})");
  EXPECT_NE(Message().find("<nowhere>"), std::string::npos) << Message();
  Config(R"({"model_max_length": -3})");
  EXPECT_NE(Message().find("model_max_length"), std::string::npos) << Message();
  Config(R"({"added_tokens_decoder": {"x": {"content": "<y>"}}})");
  EXPECT_NE(Message().find("\"x\" is not an id"), std::string::npos) << Message();
  Config(R"({"added_tokens_decoder": {"99": {"content": "<y>"}}})");
  EXPECT_NE(Message().find("99"), std::string::npos) << Message();
  Config("{}");
  folder_.Write("config.json", R"({"eos_token_id": 5000})");
  EXPECT_NE(Message().find("5000"), std::string::npos) << Message();
}

TEST(OpenTokenizer, GzipByContent) {
  const TemporaryFolder folder;
  const auto plain = OpenText(TinyBpe());
  const std::string packed = Gzip(TinyBpe());
  EXPECT_EQ(OpenTokenizer(folder.Write("20B_tokenizer.json", packed))->fingerprint(),
            plain->fingerprint());
  folder.Write("tokenizer.json.gz", packed);
  EXPECT_EQ(OpenTokenizer(folder.path())->Encode("hello", false), (Ids{13}));
  EXPECT_EQ(tokenizers::Gunzip(Gzip(std::string(3'000'000, 'x')), "x"),
            std::string(3'000'000, 'x'));
}

TEST(OpenTokenizer, Missing) {
  const TemporaryFolder folder;
  for (const auto& path : {folder.path(), folder.path() / "nothing"}) {
    try {
      OpenTokenizer(path);
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kModel);
      EXPECT_NE(std::string(error.what()).find(path.string()), std::string::npos);
    }
  }
}

TEST(OpenTokenizer, PublishedModelFolderWithoutTokenizerConfig) {
  const std::filesystem::path folder = NATSL_SOURCE_DIR "/../shared/data/models/stories260K-hf";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is not there";
  const auto tokenizer = OpenTokenizer(folder);
  EXPECT_EQ(tokenizer->special_tokens().bos, 1);
  EXPECT_EQ(tokenizer->special_tokens().eos, 2);
  EXPECT_EQ(tokenizer->special_tokens().unk, 0);
  EXPECT_EQ(tokenizer->vocabulary_size(), 512);
  EXPECT_EQ(tokenizer->Encode("Once upon a time", true).front(), 1);
}

}  // namespace
}  // namespace natsl::model_adapters
