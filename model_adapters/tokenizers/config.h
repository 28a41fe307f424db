// What lies beside a tokenizer in a model folder: tokenizer_config.json, special_tokens_map.json
// and the ids in config.json.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model_adapters/tokenizer.h"
#include "model_adapters/tokenizers/added_tokens.h"

namespace natsl::model_adapters::tokenizers {

struct TokenizerConfig {
  std::string tokenizer_class;  ///< without a "Fast" at its end; empty: none named
  std::optional<bool> add_bos, add_eos;
  /// "bos_token", "eos_token", "unk_token", "pad_token": the token's content; nullopt: said to be
  /// none. Those that no file speaks of are absent.
  std::map<std::string, std::optional<std::string>, std::less<>> tokens;
  std::map<std::string, int64_t, std::less<>> token_ids;  ///< of config.json, by the same names
  std::vector<AddedToken> added;                          ///< added_tokens_decoder, with ids
  std::optional<int64_t> max_length;
  bool clean_up_spaces = false;
  bool clean_up_spaces_of_bpe = false;  ///< even where the model is a BPE

  bool IsLlama() const { return tokenizer_class == "LlamaTokenizer"; }
};

/// Reads what is there; a folder without any of the files gives the defaults. Throws Error (model).
TokenizerConfig ReadTokenizerConfig(const std::filesystem::path& folder);

/// The special ids: by the tokens the files name, else by the class's customary ones, else by the
/// ids in config.json. Throws Error (model) where a named BOS or EOS doesn't exist, or an id is
/// outside of the vocabulary.
SpecialTokens ResolveSpecialTokens(
    const TokenizerConfig& config,
    const std::function<std::optional<TokenId>(std::string_view)>& id_of, int64_t vocabulary_size);

}  // namespace natsl::model_adapters::tokenizers
