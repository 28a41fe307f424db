// The tiny models' tokenizer: byte-pair merges learned by the sentencepiece library from text of
// our own generators.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace natsl::training {

struct TokenizerOptions {
  int64_t vocabulary = 1024;  ///< 512 to 2,048: special tokens, 256 bytes, digits, merges
  uint64_t seed = 0;
};

/// Contents of tokenizer.model: ids 0 unknown, 1 start, 2 end; digits one by one; other characters
/// by their bytes; no normalization, so that decoding gives the text back. The same options give
/// the same bytes.
std::string TrainTokenizer(const TokenizerOptions& options);

/// Writes tokenizer.model and tokenizer_config.json, which natsl-bench opens (the start token goes
/// before a text).
void WriteTokenizer(const std::filesystem::path& folder, const std::string& model);

/// The text that merges are learned from.
std::string TokenizerText(uint64_t seed);

}  // namespace natsl::training
