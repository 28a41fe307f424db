// The contract of tokenizers, and how one is opened from a Hugging Face folder or a file.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model_adapters/language_model.h"

namespace natsl::model_adapters {

/// Special ids as tokenizer_config.json / special_tokens_map.json / config.json name them.
struct SpecialTokens {
  std::optional<TokenId> bos, eos, unk, pad;
};

/// Text to ids and back. Thread safe. Text is UTF-8.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  /// `add_special_tokens`: what the tokenizer's own post-processor (or add_bos_token /
  /// add_eos_token) puts around a text.
  virtual std::vector<TokenId> Encode(std::string_view text, bool add_special_tokens) const = 0;
  /// Text of the ids together (not of each alone). Ids outside the vocabulary: Error (model).
  virtual std::string Decode(std::span<const TokenId> ids, bool skip_special_tokens) const = 0;

  virtual const SpecialTokens& special_tokens() const = 0;
  /// One more than the largest id.
  virtual int64_t vocabulary_size() const = 0;
  /// SHA-256 over everything that can change an id or a text.
  virtual const std::string& fingerprint() const = 0;
  /// `model_max_length` of tokenizer_config.json, where it says a real one.
  virtual std::optional<int64_t> model_max_length() const = 0;
};

/// Opens a model folder (tokenizer.json, else tokenizer.model / spiece.model; with
/// tokenizer_config.json beside it), or one such file (tokenizer.json may be gzip-compressed).
/// Throws Error (model): missing, malformed, or a component that isn't supported, by its name.
std::shared_ptr<const Tokenizer> OpenTokenizer(const std::filesystem::path& path);

}  // namespace natsl::model_adapters
