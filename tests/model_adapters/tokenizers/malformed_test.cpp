// Malformed tokenizers: every one gives one clear error of the model kind, and no crash.
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "tests/model_adapters/tokenizers/support.h"

namespace natsl::model_adapters {
namespace {

using core::Json;

/// A valid tokenizer with a component of every kind.
Json Valid() {
  return Json::parse(R"({"version": "1.0", "truncation": null, "padding": null,
    "added_tokens": [
      {"id": 0, "content": "<unk>", "special": true, "normalized": false},
      {"id": 7, "content": "<x>", "special": false, "normalized": true}],
    "normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"},
      {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}]},
    "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
      {"type": "Split", "pattern": {"Regex": "\\w+|\\s"}, "behavior": "Isolated", "invert": false},
      {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": true}]},
    "post_processor": {"type": "TemplateProcessing",
      "single": [{"SpecialToken": {"id": "<unk>", "type_id": 0}}, {"Sequence": {"id": "A"}}],
      "pair": [], "special_tokens": {"<unk>": {"id": "<unk>", "ids": [0], "tokens": ["<unk>"]}}},
    "decoder": {"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Fuse"},
      {"type": "Strip", "content": " ", "start": 1, "stop": 0}]},
    "model": {"type": "BPE", "unk_token": "<unk>", "fuse_unk": true, "byte_fallback": true,
      "vocab": {"<unk>": 0, "a": 1, "b": 2, "ab": 3, "▁": 4, "▁a": 5, "<0x41>": 6},
      "merges": [["a", "b"], ["▁", "a"]]}})");
}

/// Opens and encodes; what the error says, or nothing.
std::string ErrorOf(const std::string& text, std::string_view name = "tokenizer.json") {
  const TemporaryFolder folder;
  const auto path = folder.Write(name, text);
  try {
    const auto tokenizer = OpenTokenizer(path);
    const Ids ids = tokenizer->Encode("ab  <x> aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab é中", true);
    tokenizer->Decode(ids, false);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kModel) << error.what();
    EXPECT_GT(std::string(error.what()).size(), 10u);
    return error.what();
  }
  return "";
}

TEST(Malformed, TheValidOneIsValid) {
  const auto tokenizer = OpenText(Valid().dump());
  EXPECT_EQ(tokenizer->Encode("ab<x>A", true), (Ids{0, 4, 3, 7, 6}));
}

struct Mutation {
  const char* name;
  const char* pointer;      ///< JSON pointer of what is changed
  const char* replacement;  ///< JSON, or "" to erase it
  const char* says;         ///< part of the message
};

constexpr Mutation kMutations[] = {
    {"no model", "/model", "", "\"model\" is missing"},
    {"model is null", "/model", "null", "model"},
    {"model is a list", "/model", "[]", "expected an object"},
    {"model type unknown", "/model/type", "\"Markov\"", "\"Markov\" is not supported"},
    {"model type is a number", "/model/type", "3", "\"type\" is 3"},
    {"no vocabulary", "/model/vocab", "", "model.vocab is missing"},
    {"vocabulary is null", "/model/vocab", "null", "model.vocab is missing"},
    {"vocabulary is text", "/model/vocab", "\"a\"", "model.vocab"},
    {"vocabulary is a list", "/model/vocab", "[[\"a\", 1.0]]", "another layout"},
    {"list entry is no pair", "/model/vocab", "[[\"a\"]]", "not a pair"},
    {"list entry is empty", "/model/vocab", "[[]]", "not a pair"},
    {"list entry has three", "/model/vocab", "[[\"a\", 1, 2]]", "expected [token, score]"},
    {"list entry the wrong way", "/model/vocab", "[[1, \"a\"]]", "expected [token, score]"},
    {"list entry is a number", "/model/vocab", "[7]", "expected [token, score]"},
    {"id is text", "/model/vocab/a", "\"1\"", "expected an id"},
    {"id is a fraction", "/model/vocab/a", "1.5", "expected an id"},
    {"id is null", "/model/vocab/a", "null", "expected an id"},
    {"id is a list", "/model/vocab/a", "[1]", "expected an id"},
    {"id is an object", "/model/vocab/a", "{}", "expected an id"},
    {"id is negative", "/model/vocab/a", "-1", "the id -1"},
    {"id is taken", "/model/vocab/a", "2", "given twice"},
    {"id is 2^31", "/model/vocab/a", "2147483648", "expected 0 to"},
    {"id is 2^64-1", "/model/vocab/a", "18446744073709551615", "expected 0 to"},
    {"id is 1e300", "/model/vocab/a", "1e300", "expected an id"},
    {"no merges", "/model/merges", "", "model.merges is missing"},
    {"merges are an object", "/model/merges", "{}", "merges"},
    {"merge is a number", "/model/merges/0", "5", "expected two tokens"},
    {"merge is an object", "/model/merges/0", "{}", "expected two tokens"},
    {"merge of one", "/model/merges/0", "[\"a\"]", "has 1 tokens"},
    {"merge of three", "/model/merges/0", "[\"a\", \"b\", \"c\"]", "expected two tokens"},
    {"merge of numbers", "/model/merges/0", "[1, 2]", "expected two tokens"},
    {"merge in lists", "/model/merges/0", "[[\"a\", \"b\"]]", "expected two tokens"},
    {"merge without a space", "/model/merges/0", "\"ab\"", "one space"},
    {"merge with two spaces", "/model/merges/0", "\"a b c\"", "one space"},
    {"merge of an unknown left", "/model/merges/0", "[\"z\", \"b\"]", "\"z\", which is not in"},
    {"merge of an unknown right", "/model/merges/0", "[\"a\", \"z\"]", "\"z\", which is not in"},
    {"merge to an unknown token", "/model/merges/0", "[\"b\", \"a\"]", "\"ba\", which is not in"},
    {"merge without the prefix", "/model/continuing_subword_prefix", "\"##\"",
     "doesn't start with"},
    {"unknown token unknown", "/model/unk_token", "\"<none>\"", "\"<none>\", which is not in"},
    {"unknown token is a number", "/model/unk_token", "1", "\"unk_token\" is 1"},
    {"fuse_unk is text", "/model/fuse_unk", "\"yes\"", "\"fuse_unk\" is \"yes\""},
    {"dropout", "/model/dropout", "0.1", "dropout"},
    {"added tokens are text", "/added_tokens", "\"<x>\"", "added_tokens"},
    {"added token is text", "/added_tokens/0", "\"<x>\"", "added_tokens[0]"},
    {"added token without content", "/added_tokens/0/content", "", "\"content\" is missing"},
    {"added token without an id", "/added_tokens/1/id", "", "the id -1"},
    {"added token's id is negative", "/added_tokens/1/id", "-5", "\"id\" is -5"},
    {"added token's id is huge", "/added_tokens/1/id", "99999999999999", "\"id\" is 9999"},
    {"added token's id is 2^64-1", "/added_tokens/1/id", "18446744073709551615", "\"id\" is"},
    {"added token's id is not the next", "/added_tokens/1/id", "9", "the id 9, expected 7"},
    {"added token's id is taken", "/added_tokens/1/id", "0", "the id 0 is given twice"},
    {"added token's id is another's", "/added_tokens/0/id", "1", "the id 1, expected 0"},
    {"added token's flag is text", "/added_tokens/0/special", "\"no\"", "\"special\" is \"no\""},
    {"normalizer is text", "/normalizer", "\"NFC\"", "expected an object"},
    {"normalizer without a type", "/normalizer/type", "", "\"type\" is missing"},
    {"normalizer unknown", "/normalizer/normalizers/0/type", "\"NFZ\"", "\"NFZ\" is not supported"},
    {"normalizers are an object", "/normalizer/normalizers", "{}", "a list of components"},
    {"pattern is a number", "/normalizer/normalizers/1/pattern", "1", "the pattern is 1"},
    {"pattern is empty", "/normalizer/normalizers/1/pattern", "{\"String\": \"\"}", "empty"},
    {"pattern of another kind", "/normalizer/normalizers/1/pattern", "{\"Glob\": \"*\"}", "Glob"},
    {"regex not closed", "/normalizer/normalizers/1/pattern/Regex", "\"(a\"", "not valid"},
    {"regex with a bad range", "/normalizer/normalizers/1/pattern/Regex", "\"a{3,1}\"",
     "not valid"},
    {"regex with a bad class", "/normalizer/normalizers/1/pattern/Regex", "\"\\\\p{Xyz}\"",
     "not valid"},
    {"regex without an end", "/normalizer/normalizers/1/pattern/Regex", "\"(a+)+$\"",
     "takes too long"},
    {"charsmap not base64", "/normalizer",
     "{\"type\": \"Precompiled\", \"precompiled_charsmap\": \"*\"}", "base64"},
    {"charsmap too short", "/normalizer",
     "{\"type\": \"Precompiled\", \"precompiled_charsmap\": \"AAA=\"}", "at least 4"},
    {"charsmap's trie too long", "/normalizer",
     "{\"type\": \"Precompiled\", \"precompiled_charsmap\": \"////fwAA\"}", "trie"},
    {"behavior unknown", "/pre_tokenizer/pretokenizers/0/behavior", "\"Kept\"", "Isolated"},
    {"split without a pattern", "/pre_tokenizer/pretokenizers/0/pattern", "",
     "\"pattern\" is missing"},
    {"replacement of two", "/pre_tokenizer/pretokenizers/1/replacement", "\"ab\"", "one character"},
    {"replacement of none", "/pre_tokenizer/pretokenizers/1/replacement", "\"\"", "one character"},
    {"scheme unknown", "/pre_tokenizer/pretokenizers/1/prepend_scheme", "\"last\"",
     "always, first or never"},
    {"length of nothing", "/pre_tokenizer", "{\"type\": \"FixedLength\", \"length\": 0}",
     "at least 1"},
    {"post-processor unknown", "/post_processor/type", "\"Tail\"", "\"Tail\" is not supported"},
    {"template without the text", "/post_processor/single/1", "", "holds the text 0 times"},
    {"template of text B", "/post_processor/single/1/Sequence/id", "\"B\"", "text A"},
    {"template of an unknown token", "/post_processor/single/0/SpecialToken/id", "\"<y>\"",
     "\"<y>\" is missing"},
    {"template of an id too large", "/post_processor/special_tokens/<unk>/ids/0", "100",
     "puts the id 100"},
    {"template of a negative id", "/post_processor/special_tokens/<unk>/ids/0", "-1",
     "expected an id"},
    {"template's ids are text", "/post_processor/special_tokens/<unk>/ids", "\"0\"",
     "a list of ids"},
    {"pair without an id", "/post_processor", R"({"type": "BertProcessing", "sep": ["a"],
      "cls": ["a", 1]})",
     "a token and its id"},
    {"decoder unknown", "/decoder/decoders/0/type", "\"Morse\"", "\"Morse\" is not supported"},
    {"strip of a negative count", "/decoder/decoders/2/start", "-1", "a count"},
    {"strip of two characters", "/decoder/decoders/2/content", "\"ab\"", "one character"},
};

class MalformedField : public testing::TestWithParam<Mutation> {};

TEST_P(MalformedField, IsNamed) {
  const Mutation& mutation = GetParam();
  Json json = Valid();
  const Json::json_pointer pointer(mutation.pointer);
  if (std::string_view(mutation.replacement).empty()) {
    Json& parent = json[pointer.parent_pointer()];
    if (parent.is_array()) {
      parent.erase(std::stoul(pointer.back()));
    } else {
      parent.erase(pointer.back());
    }
  } else {
    json[pointer] = Json::parse(mutation.replacement);
  }
  const std::string message = ErrorOf(json.dump());
  EXPECT_NE(message.find(mutation.says), std::string::npos)
      << mutation.name << ": the message is '" << message << "'";
}

INSTANTIATE_TEST_SUITE_P(All, MalformedField, testing::ValuesIn(kMutations),
                         [](const testing::TestParamInfo<Mutation>& info) {
                           std::string name = info.param.name;
                           for (char& c : name) {
                             if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
                           }
                           return name + "_" + std::to_string(info.index);
                         });

TEST(Malformed, WholeFiles) {
  const std::string valid = Valid().dump();
  const auto nested = [](int depth) {
    return std::string(static_cast<size_t>(depth), '[') +
           std::string(static_cast<size_t>(depth), ']');
  };
  const std::pair<std::string, const char*> files[] = {
      {"", "empty"},
      {" ", "not valid JSON"},
      {"[]", "expected an object"},
      {"null", "expected an object"},
      {"7", "expected an object"},
      {"{}", "\"model\" is missing"},
      {"{\"model\"", "not valid JSON"},
      {valid + "x", "not valid JSON"},
      {valid + valid, "not valid JSON"},
      {valid + std::string(1, '\0'), "not valid JSON: a NUL"},
      {valid + std::string("\0x", 2), "not valid JSON: a NUL"},
      {"\xEF\xBB\xBF", "JSON"},
      {std::string("{\"model\": \"\xC3\"}"), "not valid UTF-8 at byte 11"},
      {"{\"model\": \"\\ud800\"}", "not valid JSON"},
      {std::string("{\0}", 3), "not valid JSON"},
      {"{\"model\": {\"vocab\": {\"a\": 1e999}}}", "not valid JSON"},
      {"{\"a\": 1, \"a\": 2}", "given twice"},
      {"{\"model\": {\"vocab\": {}, \"vocab\": {}}}", "given twice"},
      {"{\"normalizer\": " + nested(100000) + "}", "nested deeper"},
      {"{\"model\": {\"vocab\": {\"a\": " + nested(100000) + "}}}", "expected an id"},
      {"\x1f\x8b", "gzip"},
      {"\x1f\x8b\x08\x00 not a deflate stream at all", "gzip"},
      {"not json", "not valid JSON"},
  };
  for (const auto& [content, says] : files) {
    const std::string message = ErrorOf(content);
    EXPECT_NE(message.find(says), std::string::npos)
        << "'" << content.substr(0, 40) << "': " << message;
  }
}

TEST(Malformed, ReplacementsThatGrowWithoutEnd) {
  Json json = Valid();
  json["normalizer"] = Json::parse(R"({"type": "Sequence", "normalizers": []})");
  for (int i = 0; i < 60; ++i) {
    json["normalizer"]["normalizers"].push_back(Json::parse(
        R"({"type": "Replace", "pattern": {"String": "a"}, "content": "aaaaaaaaaaaaaaaa"})"));
  }
  EXPECT_NE(ErrorOf(json.dump()).find("replacing makes more than"), std::string::npos);
}

TEST(Malformed, CutAnywhere) {
  const std::string valid = Valid().dump();
  for (size_t size = 0; size < valid.size(); size += 7) {
    EXPECT_NE(ErrorOf(valid.substr(0, size)), "") << "cut at " << size;
  }
}

/// Random damage: an error or a tokenizer, never a crash.
TEST(Malformed, RandomBytes) {
  const std::string valid = Valid().dump();
  std::mt19937 random(17);
  int errors = 0;
  for (int round = 0; round < 400; ++round) {
    std::string damaged = valid;
    const size_t changes = 1 + random() % 3;
    for (size_t i = 0; i < changes; ++i) {
      const size_t at = random() % damaged.size();
      switch (random() % 3) {
        case 0:
          damaged[at] = static_cast<char>(random());
          break;
        case 1:
          damaged.erase(at, 1 + random() % 5);
          break;
        default:
          damaged.insert(at, 1, R"({}[]",:0-.a\)"[random() % 13]);
      }
    }
    errors += !ErrorOf(damaged).empty();
  }
  EXPECT_GT(errors, 300);
}

/// Every value in turn becomes one of another type.
TEST(Malformed, EveryValueOfAnotherType) {
  const Json valid = Valid();
  const Json flat = valid.flatten();
  for (const auto& [pointer, value] : flat.items()) {
    for (const char* other : {"null", "true", "-1", "1e18", "\"\"", "\"x\"", "[]", "{}", "[[0]]"}) {
      Json json = valid;
      json[Json::json_pointer(pointer)] = Json::parse(other);
      ErrorOf(json.dump());  // its expectations are inside
    }
  }
}

}  // namespace
}  // namespace natsl::model_adapters
