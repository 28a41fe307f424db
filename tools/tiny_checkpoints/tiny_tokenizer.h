// A byte-level BPE tokenizer of 512 ids: three special tokens, 256 bytes and the merges learned
// from a short text of our own.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace natsl::tools {

constexpr int64_t kTinyVocabulary = 512;
constexpr int64_t kTinyPad = 0, kTinyBos = 1, kTinyEos = 2;

/// Contents of tokenizer.json and tokenizer_config.json.
std::string TinyTokenizerJson();
std::string TinyTokenizerConfigJson();

/// The text that the merges are learned from.
std::string_view TinyCorpus();

}  // namespace natsl::tools
