#include "model_adapters/tokenizers/pre_tokenizers.h"

#include <gtest/gtest.h>

#include "core/json.h"

namespace natsl::model_adapters::tokenizers {
namespace {

using Texts = std::vector<std::string>;

Texts Pieces(const std::string& json, std::string_view text, bool at_start = true) {
  const auto pre_tokenizer = MakePreTokenizer(core::Json::parse(json), "pre_tokenizer");
  Arena arena;
  std::vector<Piece> pieces;
  pre_tokenizer->Split({text, at_start}, pieces, arena);
  Texts texts;
  for (const Piece& piece : pieces) texts.emplace_back(piece.text);
  return texts;
}

std::string SplitJson(const std::string& pattern, const std::string& behavior, bool invert) {
  return R"({"type": "Split", "pattern": )" + pattern + R"(, "behavior": ")" + behavior +
         R"(", "invert": )" + (invert ? "true}" : "false}");
}

TEST(PreTokenizers, SplitBehaviors) {
  const std::string dash = R"({"String": "-"})";
  const std::string_view text = "the-final--countdown";
  EXPECT_EQ(Pieces(SplitJson(dash, "Removed", false), text), (Texts{"the", "final", "countdown"}));
  EXPECT_EQ(Pieces(SplitJson(dash, "Isolated", false), text),
            (Texts{"the", "-", "final", "-", "-", "countdown"}));
  EXPECT_EQ(Pieces(SplitJson(dash, "MergedWithPrevious", false), text),
            (Texts{"the-", "final-", "-", "countdown"}));
  EXPECT_EQ(Pieces(SplitJson(dash, "MergedWithNext", false), text),
            (Texts{"the", "-final", "-", "-countdown"}));
  EXPECT_EQ(Pieces(SplitJson(dash, "Contiguous", false), text),
            (Texts{"the", "-", "final", "--", "countdown"}));
  EXPECT_EQ(Pieces(SplitJson(R"({"Regex": "\\w+"})", "Removed", true), "ab, c"),
            (Texts{"ab", "c"}));
}

TEST(PreTokenizers, EmptyMatchesCut) {
  EXPECT_EQ(Pieces(SplitJson(R"j({"Regex": "(?=\\d)"})j", "Isolated", false), "a12"),
            (Texts{"a", "1", "2"}));
}

TEST(PreTokenizers, ByteLevel) {
  EXPECT_EQ(Pieces(R"({"type": "ByteLevel", "add_prefix_space": false})", "it's é\n\n 12"),
            (Texts{"it", "'s", "ĠÃ©", "ĊĊ", "Ġ12"}));
  EXPECT_EQ(Pieces(R"({"type": "ByteLevel", "add_prefix_space": true})", "a b"),
            (Texts{"Ġa", "Ġb"}));
  EXPECT_EQ(
      Pieces(R"({"type": "ByteLevel", "add_prefix_space": false, "use_regex": false})", "a b"),
      (Texts{"aĠb"}));
}

TEST(PreTokenizers, Metaspace) {
  EXPECT_EQ(
      Pieces(R"({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"})", "a  b "),
      (Texts{"▁a", "▁", "▁b", "▁"}));
  EXPECT_EQ(
      Pieces(R"({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first"})", "a", false),
      (Texts{"a"}));
  EXPECT_EQ(Pieces(R"({"type": "Metaspace", "replacement": "_", "add_prefix_space": false,
                       "split": false})",
                   "a b"),
            (Texts{"a_b"}));
}

TEST(PreTokenizers, CharacterKinds) {
  EXPECT_EQ(Pieces(R"({"type": "Whitespace"})", "Hey, you_1!\u3000…"),
            (Texts{"Hey", ",", "you_1", "!", "…"}));
  EXPECT_EQ(Pieces(R"({"type": "WhitespaceSplit"})", " Hey,  you\n"), (Texts{"Hey,", "you"}));
  EXPECT_EQ(Pieces(R"({"type": "Digits", "individual_digits": true})", "a12½"),
            (Texts{"a", "1", "2", "½"}));
  EXPECT_EQ(Pieces(R"({"type": "Digits", "individual_digits": false})", "a12b"),
            (Texts{"a", "12", "b"}));
  EXPECT_EQ(Pieces(R"({"type": "Punctuation"})", "a$—b"), (Texts{"a", "$", "—", "b"}));
  EXPECT_EQ(Pieces(R"({"type": "BertPreTokenizer"})", "Hey, you!"),
            (Texts{"Hey", ",", "you", "!"}));
  EXPECT_EQ(Pieces(R"({"type": "CharDelimiterSplit", "delimiter": "é"})", "aébé"),
            (Texts{"a", "b"}));
  EXPECT_EQ(Pieces(R"({"type": "FixedLength", "length": 2})", "aébcd"), (Texts{"aé", "bc", "d"}));
}

TEST(PreTokenizers, SequenceGoesInOrder) {
  EXPECT_EQ(Pieces(R"({"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"},
      {"type": "Digits", "individual_digits": true}, {"type": "ByteLevel",
      "add_prefix_space": false, "use_regex": false}]})",
                   "é 12"),
            (Texts{"Ã©", "1", "2"}));
}

TEST(PreTokenizers, UnknownTypeIsNamed) {
  try {
    MakePreTokenizer(core::Json::parse(R"({"type": "Sequence", "pretokenizers": [
        {"type": "Whitespace"}, {"type": "UnicodeScripts"}]})"),
                     "pre_tokenizer");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "pre_tokenizer.pretokenizers[1]: the pre-tokenizer \"UnicodeScripts\" is not "
                 "supported");
  }
}

}  // namespace
}  // namespace natsl::model_adapters::tokenizers
