#include "model_adapters/tokenizers/normalizers.h"

#include <gtest/gtest.h>

#include "core/json.h"

namespace natsl::model_adapters::tokenizers {
namespace {

std::string Normalized(const char* json, std::string text) {
  MakeNormalizer(core::Json::parse(json), "normalizer")->Normalize(text);
  return text;
}

TEST(Normalizers, UnicodeForms) {
  EXPECT_EQ(Normalized(R"({"type": "NFC"})", "e\u0301 x"), "\u00E9 x");
  EXPECT_EQ(Normalized(R"({"type": "NFD"})", "\u00E9"), "e\u0301");
  EXPECT_EQ(Normalized(R"({"type": "NFKC"})", "\uFB01\uFF21"), "fiA");
  EXPECT_EQ(Normalized(R"({"type": "NFKD"})", "\u00BD"), "1\u20442");
}

TEST(Normalizers, LowercaseGoesByLetter) {
  EXPECT_EQ(Normalized(R"({"type": "Lowercase"})", "ÀΣΣ İ"), "àσσ i\u0307");
}

TEST(Normalizers, StripTakesSides) {
  EXPECT_EQ(
      Normalized(R"({"type": "Strip", "strip_left": true, "strip_right": false})", "\u3000 a \t"),
      "a \t");
  EXPECT_EQ(Normalized(R"({"type": "Strip", "strip_left": false, "strip_right": true})", " a \t"),
            " a");
  EXPECT_EQ(Normalized(R"({"type": "Strip", "strip_left": true, "strip_right": true})", " \n "),
            "");
}

TEST(Normalizers, StripAccentsDropsMarks) {
  EXPECT_EQ(Normalized(R"({"type": "StripAccents"})", "e\u0301a\u0308"), "ea");
}

TEST(Normalizers, ReplaceByTextAndByRegex) {
  EXPECT_EQ(
      Normalized(R"({"type": "Replace", "pattern": {"String": " "}, "content": "▁"})", " a  b"),
      "▁a▁▁b");
  EXPECT_EQ(Normalized(R"({"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "})",
                       "a   b c"),
            "a b c");
  // The content is taken as it is.
  EXPECT_EQ(
      Normalized(R"({"type": "Replace", "pattern": {"Regex": "b+"}, "content": "$1$1"})", "abc"),
      "a$1$1c");
}

TEST(Normalizers, PrependLeavesEmptyTextAlone) {
  EXPECT_EQ(Normalized(R"({"type": "Prepend", "prepend": "▁"})", "a"), "▁a");
  EXPECT_EQ(Normalized(R"({"type": "Prepend", "prepend": "▁"})", ""), "");
}

TEST(Normalizers, Bert) {
  const char* json = R"({"type": "BertNormalizer", "clean_text": true,
      "handle_chinese_chars": true, "strip_accents": null, "lowercase": true})";
  EXPECT_EQ(Normalized(json, "H\u00C9\tL\u0001O中"), "he lo 中 ");
  EXPECT_EQ(Normalized(R"({"type": "BertNormalizer", "clean_text": false,
      "handle_chinese_chars": false, "strip_accents": false, "lowercase": true})",
                       "É\t中"),
            "é\t中");
}

TEST(Normalizers, NmtTurnsOddSpacesToSpaces) {
  EXPECT_EQ(Normalized(R"({"type": "Nmt"})", "a\u200Bb\u0001c\nd"), "a bc d");
}

TEST(Normalizers, SequenceGoesInOrder) {
  EXPECT_EQ(Normalized(R"({"type": "Sequence", "normalizers": [{"type": "NFD"},
      {"type": "StripAccents"}, {"type": "Prepend", "prepend": "> "}]})",
                       "é"),
            "> e");
}

/// A charsmap of one rule, "A" to "xyz", as the double array of Darts-clone has it: the root at 0,
/// the node of "A" (0x41) at 0x41, its value at 0x41 ^ 1.
TEST(Normalizers, PrecompiledCharsmap) {
  // units (little endian): [0] offset 0; [0x41] label 0x41, has a leaf, offset 1; [0x40] the value
  // 0.
  std::string bytes;
  const auto put = [&](uint32_t value) {
    for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(value >> shift & 0xFF);
  };
  put(0x42 * 4);
  for (uint32_t unit = 0; unit < 0x42; ++unit) {
    put(unit == 0x41 ? (1u << 10 | 1u << 8 | 0x41) : unit == 0x40 ? 1u << 31 | 0 : 0);
  }
  bytes += std::string("xyz\0", 4);
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string base64;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : bytes) {
    bits = bits << 8 | static_cast<uint8_t>(c);
    count += 8;
    while (count >= 6) {
      count -= 6;
      base64 += kDigits[bits >> count & 63];
    }
  }
  if (count > 0) base64 += kDigits[bits << (6 - count) & 63];
  const std::string json =
      R"({"type": "Precompiled", "precompiled_charsmap": ")" + base64 + R"("})";
  EXPECT_EQ(Normalized(json.c_str(), "bAcé"), "bxyzcé");
}

TEST(Normalizers, UnknownTypeIsNamed) {
  try {
    MakeNormalizer(core::Json::parse(R"({"type": "Martian"})"), "normalizer");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kModel);
    EXPECT_STREQ(error.what(), "normalizer: the normalizer \"Martian\" is not supported");
  }
}

}  // namespace
}  // namespace natsl::model_adapters::tokenizers
