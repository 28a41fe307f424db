// A look at a sentencepiece model before the library gets it: the library trusts the compiled
// normalization rules in it and would read outside of them.
#pragma once

#include <string_view>

namespace natsl::model_adapters::tokenizers {

/// Throws Error (model) where the bytes aren't protocol-buffer fields, or where rules in them could
/// lead a lookup out of their memory.
void CheckSentencePieceModel(std::string_view bytes);

/// Whether the ids of a text are those of its words, one after the other, where a word begins with
/// the spaces before it: byte-pair merges, no normalization, and no token that holds a space after
/// another character. `bytes` were checked.
bool EncodesWordByWord(std::string_view bytes);

}  // namespace natsl::model_adapters::tokenizers
