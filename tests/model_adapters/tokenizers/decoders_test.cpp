#include "model_adapters/tokenizers/decoders.h"

#include <gtest/gtest.h>

#include "core/json.h"

namespace natsl::model_adapters::tokenizers {
namespace {

std::string Decoded(const char* json, std::vector<std::string> tokens) {
  MakeDecoder(core::Json::parse(json), "decoder")->Decode(tokens);
  std::string text;
  for (const std::string& token : tokens) text += token;
  return text;
}

TEST(Decoders, ByteLevelJoinsBytesOfSeveralTokens) {
  EXPECT_EQ(Decoded(R"({"type": "ByteLevel"})", {"a", "Ã", "©", "Ġb"}), "aé b");
  EXPECT_EQ(Decoded(R"({"type": "ByteLevel"})", {"Ã", "a"}), "\uFFFDa");
  EXPECT_EQ(Decoded(R"({"type": "ByteLevel"})", {"中", "Ġ"}), "中 ");
}

TEST(Decoders, ByteFallback) {
  EXPECT_EQ(Decoded(R"({"type": "ByteFallback"})", {"a", "<0xC3>", "<0xA9>", "b"}), "aéb");
  EXPECT_EQ(Decoded(R"({"type": "ByteFallback"})", {"<0xC3>", "<0xC3>", "b"}), "\uFFFD\uFFFDb");
  EXPECT_EQ(Decoded(R"({"type": "ByteFallback"})", {"<0xZZ>"}), "<0xZZ>");
}

TEST(Decoders, LlamaSequence) {
  EXPECT_EQ(Decoded(R"({"type": "Sequence", "decoders": [
      {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"},
      {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]})",
                    {"▁▁He", "llo", "▁", "<0x0A>"}),
            " Hello \n");
}

TEST(Decoders, Others) {
  EXPECT_EQ(Decoded(R"({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"})",
                    {"▁a", "▁b"}),
            "a b");
  EXPECT_EQ(Decoded(R"({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "never"})",
                    {"▁a", "▁b"}),
            " a b");
  EXPECT_EQ(Decoded(R"({"type": "WordPiece", "prefix": "##", "cleanup": true})",
                    {"it", "'s", "play", "##ing", "."}),
            "it's playing.");
  EXPECT_EQ(Decoded(R"({"type": "BPEDecoder", "suffix": "</w>"})", {"a</w>", "b", "c</w>"}),
            "a bc");
  EXPECT_EQ(Decoded(R"({"type": "CTC"})", {"<pad>", "a", "a", "<pad>", "a", "|", "b"}), "aa b");
  EXPECT_EQ(Decoded(R"({"type": "Strip", "content": "x", "start": 1, "stop": 2})", {"xxaxxx"}),
            "xax");
}

TEST(Decoders, CleanUp) {
  EXPECT_EQ(CleanUpSpaces("do n't , you 're it 's . ' x ' !"), "don't, you're it's.'x '!");
}

TEST(Decoders, UnknownTypeIsNamed) {
  try {
    MakeDecoder(core::Json::parse(R"({"type": "Enigma"})"), "decoder");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "decoder: the decoder \"Enigma\" is not supported");
  }
}

}  // namespace
}  // namespace natsl::model_adapters::tokenizers
