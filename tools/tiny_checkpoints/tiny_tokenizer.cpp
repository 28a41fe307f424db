// Learning the merges and writing the tokenizer's files.
#include "tools/tiny_checkpoints/tiny_tokenizer.h"

#include <array>
#include <map>
#include <utility>
#include <vector>

#include "core/json.h"
#include "core/utf8.h"

namespace natsl::tools {
namespace {

using core::Json;

constexpr const char* kPadText = "<|pad|>";
constexpr const char* kBosText = "<|bos|>";
constexpr const char* kEosText = "<|eos|>";

/// The printable character that stands for each byte in byte-level vocabularies: itself where it is
/// printable in Latin-1, else one from U+0100 on, in order.
std::array<std::string, 256> ByteCharacters() {
  std::array<std::string, 256> characters;
  char32_t next = 0x100;
  for (int byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte != 0xAD);
    const char32_t code = printable ? static_cast<char32_t>(byte) : next++;
    core::AppendUtf8(characters[static_cast<size_t>(byte)], code);
  }
  return characters;
}

enum class Kind { kLetter, kDigit, kSpace, kOther };
Kind KindOf(char c) {
  if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) return Kind::kLetter;
  if (c >= '0' && c <= '9') return Kind::kDigit;
  return c == ' ' || c == '\n' ? Kind::kSpace : Kind::kOther;
}

/// Runs of one kind of character, each with the one space before it, as byte-level pre-tokenizers
/// cut plain English.
std::vector<std::string_view> Words(std::string_view text) {
  std::vector<std::string_view> words;
  size_t begin = 0;
  while (begin < text.size()) {
    size_t end = begin;
    if (text[end] == ' ' && end + 1 < text.size() && KindOf(text[end + 1]) != Kind::kSpace) ++end;
    const Kind kind = KindOf(text[end]);
    while (end < text.size() && KindOf(text[end]) == kind) ++end;
    words.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  return words;
}

struct Word {
  std::vector<std::string> pieces;
  int64_t count = 0;
};
using Pair = std::pair<std::string, std::string>;

/// Joins every occurrence of the pair in a word, left to right.
void Merge(Word& word, const Pair& pair) {
  std::vector<std::string> merged;
  for (size_t i = 0; i < word.pieces.size(); ++i) {
    const bool here = i + 1 < word.pieces.size() && word.pieces[i] == pair.first &&
                      word.pieces[i + 1] == pair.second;
    merged.push_back(here ? pair.first + pair.second : word.pieces[i]);
    if (here) ++i;
  }
  word.pieces = std::move(merged);
}

/// The most frequent pair again and again; the alphabetically first one where counts tie.
std::vector<Pair> LearnMerges(std::string_view corpus, int64_t count) {
  const std::array<std::string, 256> characters = ByteCharacters();
  std::map<std::string_view, Word> words;
  for (const std::string_view text : Words(corpus)) {
    Word& word = words[text];
    if (++word.count > 1) continue;
    for (const char c : text) word.pieces.push_back(characters[static_cast<unsigned char>(c)]);
  }
  std::vector<Pair> merges;
  while (std::cmp_less(merges.size(), count)) {
    std::map<Pair, int64_t> pairs;
    for (const auto& [text, word] : words) {
      for (size_t i = 0; i + 1 < word.pieces.size(); ++i) {
        pairs[{word.pieces[i], word.pieces[i + 1]}] += word.count;
      }
    }
    const Pair* best = nullptr;
    int64_t best_count = 0;
    for (const auto& [pair, n] : pairs) {
      if (n > best_count) {
        best = &pair;
        best_count = n;
      }
    }
    if (best == nullptr) throw InternalError("the corpus is too short for {} merges", count);
    merges.push_back(*best);
    for (auto& [text, word] : words) Merge(word, merges.back());
  }
  return merges;
}

Json AddedToken(int64_t id, const char* text) {
  return Json{{"id", id},        {"content", text},     {"single_word", false}, {"lstrip", false},
              {"rstrip", false}, {"normalized", false}, {"special", true}};
}

Json ByteLevel() {
  return Json{{"type", "ByteLevel"},
              {"add_prefix_space", false},
              {"trim_offsets", true},
              {"use_regex", true}};
}

/// Puts BOS before a text.
Json PostProcessor() {
  const auto special = [](const char* text) {
    return Json{{"SpecialToken", {{"id", text}, {"type_id", 0}}}};
  };
  const auto sequence = [](const char* id, int type) {
    return Json{{"Sequence", {{"id", id}, {"type_id", type}}}};
  };
  return Json{{"type", "TemplateProcessing"},
              {"single", Json::array({special(kBosText), sequence("A", 0)})},
              {"pair", Json::array({special(kBosText), sequence("A", 0), sequence("B", 1)})},
              {"special_tokens",
               {{kBosText,
                 {{"id", kBosText},
                  {"ids", Json::array({kTinyBos})},
                  {"tokens", Json::array({kBosText})}}}}}};
}

}  // namespace

std::string TinyTokenizerJson() {
  Json vocabulary = Json::object();
  int64_t id = 0;
  for (const char* text : {kPadText, kBosText, kEosText}) vocabulary[text] = id++;
  for (const std::string& character : ByteCharacters()) vocabulary[character] = id++;
  Json merges = Json::array();
  for (const auto& [left, right] : LearnMerges(TinyCorpus(), kTinyVocabulary - id)) {
    vocabulary[left + right] = id++;
    merges.push_back(left + " " + right);
  }
  if (core::Json::size_type(kTinyVocabulary) != vocabulary.size()) {
    throw InternalError("two merges give one token: {} of {} ids", vocabulary.size(),
                        kTinyVocabulary);
  }
  const Json tokenizer{
      {"version", "1.0"},
      {"truncation", nullptr},
      {"padding", nullptr},
      {"added_tokens", Json::array({AddedToken(kTinyPad, kPadText), AddedToken(kTinyBos, kBosText),
                                    AddedToken(kTinyEos, kEosText)})},
      {"normalizer", nullptr},
      {"pre_tokenizer", ByteLevel()},
      {"post_processor", PostProcessor()},
      {"decoder", ByteLevel()},
      {"model",
       {{"type", "BPE"},
        {"dropout", nullptr},
        {"unk_token", nullptr},
        {"continuing_subword_prefix", nullptr},
        {"end_of_word_suffix", nullptr},
        {"fuse_unk", false},
        {"byte_fallback", false},
        {"ignore_merges", false},
        {"vocab", vocabulary},
        {"merges", merges}}}};
  return core::PythonJson(tokenizer, 1) + "\n";
}

std::string TinyTokenizerConfigJson() {
  const Json config{{"tokenizer_class", "PreTrainedTokenizerFast"},
                    {"bos_token", kBosText},
                    {"eos_token", kEosText},
                    {"pad_token", kPadText},
                    {"add_bos_token", true},
                    {"add_eos_token", false},
                    {"clean_up_tokenization_spaces", false},
                    {"model_max_length", 2048}};
  return core::PythonJson(config, 2) + "\n";
}

}  // namespace natsl::tools
