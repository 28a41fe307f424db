// Whole tokenizers of tokenizer.json, small ones written here.
#include <gtest/gtest.h>

#include <thread>

#include "tests/model_adapters/tokenizers/support.h"

namespace natsl::model_adapters {
namespace {

TEST(JsonTokenizer, ByteLevelBpe) {
  const auto tokenizer = OpenText(TinyBpe());
  const Ids ids = {13, 15, 6, 2, 7, 4, 16};
  EXPECT_EQ(tokenizer->Encode("hello world é", false), ids);
  EXPECT_EQ(tokenizer->Encode("hello world é", true), ids);
  EXPECT_EQ(tokenizer->Decode(ids, false), "hello world é");
  EXPECT_EQ(tokenizer->Decode(Ids{8}, false), "\uFFFD");
  EXPECT_EQ(tokenizer->Encode("", true), Ids{});
  EXPECT_EQ(tokenizer->Decode({}, true), "");
  EXPECT_EQ(tokenizer->vocabulary_size(), 20);
  EXPECT_EQ(tokenizer->fingerprint().size(), 64u);
  EXPECT_FALSE(tokenizer->special_tokens().bos);
}

TEST(JsonTokenizer, TextAndIdsAreChecked) {
  const auto tokenizer = OpenText(TinyBpe());
  try {
    tokenizer->Encode("he\xFFllo", false);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kData);
    EXPECT_STREQ(error.what(), "the text is not valid UTF-8 at byte 2");
  }
  for (const TokenId id : {-1, 20, 1 << 30}) {
    try {
      tokenizer->Decode(Ids{0, id}, false);
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kModel);
    }
  }
}

TEST(JsonTokenizer, OldLayoutsWithoutAType) {
  EXPECT_EQ(OpenText(Around(R"({"vocab": {"a": 0, "b": 1, "ab": 2}, "merges": [["a", "b"]]})"))
                ->Encode("abb", false),
            (Ids{2, 1}));
  EXPECT_EQ(OpenText(Around(R"({"vocab": {"<unk>": 0, "ab": 1}, "unk_token": "<unk>"})"))
                ->Encode("ab", false),
            (Ids{1}));
}

TEST(JsonTokenizer, Unigram) {
  const auto tokenizer = OpenText(Around(
      R"({"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0], ["▁", -3], ["a", -2], ["b", -2],
          ["ab", -3], ["▁a", -4.5], ["▁ab", -6.5]]})",
      R"("pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"},
         "decoder": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"},)"));
  // ▁ + ab is -6, ▁ab -6.5, ▁a + b -6.5.
  EXPECT_EQ(tokenizer->Encode("ab a", false), (Ids{1, 4, 5}));
  EXPECT_EQ(tokenizer->Encode("xya", false), (Ids{1, 0, 2}));  // unknown characters are one token
  EXPECT_EQ(tokenizer->Decode(Ids{1, 4, 5}, false), "ab a");
  EXPECT_EQ(tokenizer->special_tokens().unk, 0);
}

TEST(JsonTokenizer, UnigramBytes) {
  const auto tokenizer = OpenText(Around(
      R"({"type": "Unigram", "unk_id": 0, "byte_fallback": true, "vocab": [["<unk>", 0], ["a", -1],
          ["<0xC3>", -9], ["<0xA9>", -9]]})",
      R"("decoder": {"type": "ByteFallback"},)"));
  EXPECT_EQ(tokenizer->Encode("aé", false), (Ids{1, 2, 3}));
  EXPECT_EQ(tokenizer->Encode("aü", false), (Ids{1, 0}));
  EXPECT_EQ(tokenizer->Decode(Ids{1, 2, 3}, false), "aé");
}

TEST(JsonTokenizer, WordLevelAndWordPiece) {
  const auto words = OpenText(Around(
      R"({"type": "WordLevel", "unk_token": "[UNK]", "vocab": {"[UNK]": 0, "he": 1, "is": 2}})",
      R"("pre_tokenizer": {"type": "Whitespace"},)"));
  EXPECT_EQ(words->Encode("he was is", false), (Ids{1, 0, 2}));
  EXPECT_EQ(words->Decode(Ids{1, 2}, false), "he is");
  const auto pieces = OpenText(Around(
      R"({"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
          "max_input_chars_per_word": 5, "vocab": {"[UNK]": 0, "play": 1, "##ing": 2, "##s": 3,
          "pl": 4}})",
      R"("pre_tokenizer": {"type": "BertPreTokenizer"}, "decoder": {"type": "WordPiece"},)"));
  EXPECT_EQ(pieces->Encode("plays playx plays! playing", false), (Ids{1, 3, 0, 1, 3, 0, 0}));
  EXPECT_EQ(pieces->Decode(Ids{1, 2, 1}, false), "playing play");
}

TEST(JsonTokenizer, UnknownWordWithoutUnknownTokenIsAnError) {
  const auto words =
      OpenText(Around(R"({"type": "WordLevel", "unk_token": "[UNK]", "vocab": {"he": 0}})"));
  EXPECT_THROW(words->Encode("she", false), Error);
}

std::string Added(const std::string& fields) {
  return TinyBpe(R"("added_tokens": [{"id": 20, "content": "<x>", )" + fields + "}],");
}

TEST(JsonTokenizer, AddedTokenFlags) {
  const std::string text = "he <x> he<x>l";
  EXPECT_EQ(OpenText(Added(R"("special": true)"))->Encode(text, false),
            (Ids{10, 4, 20, 4, 10, 20, 2}));
  EXPECT_EQ(OpenText(Added(R"("special": true, "lstrip": true)"))->Encode(text, false),
            (Ids{10, 20, 4, 10, 20, 2}));
  EXPECT_EQ(OpenText(Added(R"("special": true, "rstrip": true)"))->Encode(text, false),
            (Ids{10, 4, 20, 10, 20, 2}));
}

TEST(JsonTokenizer, SingleWordTokensAreNotInsideOfWords) {
  const auto tokenizer = OpenText(TinyBpe(R"("added_tokens": [{"id": 20, "content": "lo",
      "single_word": true, "normalized": false}],)"));
  EXPECT_EQ(tokenizer->Encode("lo hello lo", false), (Ids{20, 4, 13, 4, 20}));
}

TEST(JsonTokenizer, NormalizedTokensAreFoundInNormalizedText) {
  const auto open = [](const char* normalized) {
    return OpenText(TinyBpe(std::string(R"("normalizer": {"type": "Lowercase"},
        "added_tokens": [{"id": 20, "content": "<X>", "normalized": )") +
                            normalized + "}],"));
  };
  EXPECT_EQ(open("true")->Encode("he<x>he<X>", false), (Ids{10, 20, 10, 20}));
  EXPECT_EQ(open("false")->Encode("he<X>he", false), (Ids{10, 20, 10}));
  EXPECT_EQ(open("false")->Encode("He<x>he", false), (Ids{10, 10}));  // no bytes for <, x, >
}

TEST(JsonTokenizer, LongestAddedTokenWins) {
  const auto tokenizer = OpenText(TinyBpe(R"("added_tokens": [{"id": 20, "content": "<x>"},
      {"id": 21, "content": "<x>>"}],)"));
  EXPECT_EQ(tokenizer->Encode("<x>><x>", false), (Ids{21, 20}));
}

TEST(JsonTokenizer, SpecialTokensAreSkippedOnRequest) {
  const auto tokenizer = OpenText(Added(R"("special": true)"));
  EXPECT_EQ(tokenizer->Decode(Ids{10, 20, 2}, false), "he<x>l");
  EXPECT_EQ(tokenizer->Decode(Ids{10, 20, 2}, true), "hel");
  EXPECT_EQ(tokenizer->vocabulary_size(), 21);
}

TEST(JsonTokenizer, PostProcessors) {
  const auto with = [](const std::string& post_processor) {
    return OpenText(TinyBpe("\"post_processor\": " + post_processor + ","))->Encode("he", true);
  };
  const std::string piece = R"({"type": "TemplateProcessing", "single": [
      {"SpecialToken": {"id": "h", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
      {"SpecialToken": {"id": "o", "type_id": 0}}], "pair": [],
      "special_tokens": {"h": {"id": "h", "ids": [0, 1], "tokens": ["h", "e"]},
                         "o": {"id": "o", "ids": [3], "tokens": ["o"]}}})";
  EXPECT_EQ(with(piece), (Ids{0, 1, 10, 3}));
  EXPECT_EQ(with(R"({"type": "ByteLevel"})"), (Ids{10}));
  EXPECT_EQ(with(R"({"type": "BertProcessing", "sep": ["o", 3], "cls": ["h", 0]})"),
            (Ids{0, 10, 3}));
  EXPECT_EQ(with(R"({"type": "RobertaProcessing", "sep": ["o", 3], "cls": ["h", 0]})"),
            (Ids{0, 10, 3}));
  EXPECT_EQ(with(R"({"type": "Sequence", "processors": [{"type": "ByteLevel"}, )" + piece + "]}"),
            (Ids{0, 1, 10, 3}));
}

TEST(JsonTokenizer, ManyThreadsGetTheSameIds) {
  const auto tokenizer = OpenText(TinyBpe());
  std::vector<std::string> texts;
  for (int i = 0; i < 300; ++i) {
    std::string text;
    for (int word = 0; word <= i % 17; ++word) text += "hello " + std::string(i % 5, 'l') + "wo";
    texts.push_back(text);
  }
  std::vector<Ids> expected;
  for (const std::string& text : texts) expected.push_back(tokenizer->Encode(text, false));
  std::vector<int> equal(4, 0);
  std::vector<std::thread> threads;
  for (size_t thread = 0; thread < equal.size(); ++thread) {
    threads.emplace_back([&, thread] {
      for (size_t i = 0; i < texts.size(); ++i) {
        const size_t at = (i * 7 + thread * 31) % texts.size();
        equal[thread] += tokenizer->Encode(texts[at], false) == expected[at];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(equal, std::vector<int>(4, 300));
}

TEST(JsonTokenizer, CachesOfSeveralTokenizersAreApart) {
  const auto first =
      OpenText(Around(R"({"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": []})"));
  const auto second =
      OpenText(Around(R"({"type": "BPE", "vocab": {"b": 0, "a": 1}, "merges": []})"));
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(first->Encode("ab", false), (Ids{0, 1}));
    EXPECT_EQ(second->Encode("ab", false), (Ids{1, 0}));
  }
  EXPECT_NE(first->fingerprint(), second->fingerprint());
}

}  // namespace
}  // namespace natsl::model_adapters
