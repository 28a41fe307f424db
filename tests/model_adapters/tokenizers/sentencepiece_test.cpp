// sentencepiece models, a small one written here field by field.
#include <gtest/gtest.h>

#include <cstring>

#include "tests/model_adapters/tokenizers/support.h"

namespace natsl::model_adapters {
namespace {

/// Protocol buffer fields.
std::string Varint(uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  return out + static_cast<char>(value);
}
std::string Bytes(int field, const std::string& content) {
  return Varint(static_cast<uint64_t>(field) << 3 | 2) + Varint(content.size()) + content;
}
std::string Number(int field, uint64_t value) {
  return Varint(static_cast<uint64_t>(field) << 3) + Varint(value);
}

std::string Piece(const std::string& text, float score, int type) {
  std::string fixed(4, '\0');
  std::memcpy(fixed.data(), &score, 4);
  return Bytes(
      1, Bytes(1, text) + Varint(2 << 3 | 5) + fixed + Number(3, static_cast<uint64_t>(type)));
}

enum { kNormal = 1, kUnknown = 2, kControl = 3, kByte = 6 };

std::string TinyModel() {
  std::string model = Piece("<unk>", 0, kUnknown) + Piece("<s>", 0, kControl) +
                      Piece("</s>", 0, kControl) + Piece("▁", -3, kNormal) +
                      Piece("a", -2, kNormal) + Piece("b", -2, kNormal) + Piece("ab", -3, kNormal) +
                      Piece("▁ab", -4, kNormal);
  model += Bytes(2, Number(3, 1));  // trainer: a unigram model
  model += Bytes(3, Bytes(1, "identity") + Number(3, 1) + Number(4, 0) + Number(5, 1));
  return model;
}

TEST(SentencePiece, EncodesAndDecodes) {
  const TemporaryFolder folder;
  const auto tokenizer = OpenTokenizer(folder.Write("tokenizer.model", TinyModel()));
  EXPECT_EQ(tokenizer->Encode("ab ba", false), (Ids{7, 3, 5, 4}));
  EXPECT_EQ(tokenizer->Encode("ab ba", true), (Ids{1, 7, 3, 5, 4}));
  EXPECT_EQ(tokenizer->Decode(Ids{1, 7, 3, 5, 4, 2}, false), "ab ba");
  EXPECT_EQ(tokenizer->Decode(Ids{7, 0}, true), "ab");
  EXPECT_EQ(tokenizer->vocabulary_size(), 8);
  EXPECT_EQ(tokenizer->special_tokens().bos, 1);
  EXPECT_EQ(tokenizer->special_tokens().eos, 2);
  EXPECT_EQ(tokenizer->special_tokens().unk, 0);
  EXPECT_FALSE(tokenizer->special_tokens().pad);
  EXPECT_THROW(tokenizer->Decode(Ids{8}, false), Error);
  EXPECT_THROW(tokenizer->Encode("\xC3", false), Error);
}

TEST(SentencePiece, ConfigDecidesWhatIsAdded) {
  const TemporaryFolder folder;
  folder.Write("tokenizer.model", TinyModel());
  folder.Write("tokenizer_config.json", R"({"add_bos_token": false, "add_eos_token": true})");
  EXPECT_EQ(OpenTokenizer(folder.path())->Encode("ab", true), (Ids{7, 2}));
  folder.Write("tokenizer_config.json", R"({"tokenizer_class": "T5Tokenizer"})");
  EXPECT_EQ(OpenTokenizer(folder.path())->Encode("ab", true), (Ids{7, 2}));
}

TEST(SentencePiece, BrokenModelsAreErrors) {
  const std::string good = TinyModel();
  std::vector<std::string> broken = {
      "\x0A", "hello", std::string("\x0A\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01", 11),
      std::string(100, '\0'),
      std::string("\x0A\x05"
                  "ab",
                  4),
      good.substr(0, 10), good.substr(0, good.size() - 4),
      // No unknown piece; two; the same piece twice; a piece without text.
      good.substr(Piece("<unk>", 0, kUnknown).size()), good + Piece("<u>", 0, kUnknown),
      good + Piece("a", 0, kNormal), good + Piece("", 0, kNormal),
      // A charsmap whose trie is larger than it.
      good + Bytes(3, Bytes(2, std::string("\xFF\xFF\xFF\x7F"
                                           "abcd",
                                           8))),
      // One whose trie leads out of itself.
      good + Bytes(3, Bytes(2, std::string("\x04\0\0\0"
                                           "\xFF\xFF\xFF\x7F"
                                           "x\0",
                                           10)))};
  for (size_t i = 0; i < broken.size(); ++i) {
    const TemporaryFolder folder;
    const auto path = folder.Write("tokenizer.model", broken[i]);
    try {
      OpenTokenizer(path);
      ADD_FAILURE() << "no error for " << i;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kModel) << i;
      EXPECT_NE(std::string(error.what()).find("tokenizer.model"), std::string::npos)
          << error.what();
    }
  }
}

}  // namespace
}  // namespace natsl::model_adapters
