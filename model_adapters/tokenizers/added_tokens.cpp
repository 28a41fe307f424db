// Added tokens.
#include "model_adapters/tokenizers/added_tokens.h"

#include <algorithm>
#include <array>

#include "core/json.h"
#include "model_adapters/tokenizers/components.h"
#include "model_adapters/tokenizers/unicode.h"

namespace natsl::model_adapters::tokenizers {
namespace {

char32_t CharacterAt(std::string_view text, size_t position) { return DecodeNext(text, position); }

}  // namespace

AddedToken ReadAddedToken(const core::Json& json, const std::string& where) {
  const core::JsonObject object(json, where, ErrorCode::kModel);
  AddedToken token;
  token.content = object.String("content");
  if (object.Has("id")) {
    const int64_t id = object.Int("id");
    if (id < 0 || id >= kMaxVocabulary) {
      throw object.Wrong("id", fmt::format("0 to {}", kMaxVocabulary - 1));
    }
    token.id = static_cast<TokenId>(id);
  }
  token.special = OptionalBool(object, "special", false);
  token.single_word = OptionalBool(object, "single_word", false);
  token.lstrip = OptionalBool(object, "lstrip", false);
  token.rstrip = OptionalBool(object, "rstrip", false);
  token.normalized = OptionalBool(object, "normalized", !token.special);
  return token;
}

void AddedTokens::Add(AddedToken token, const TokenTable& model, const Normalizer* normalizer) {
  if (token.content.empty()) return;  // as the reference does
  // The reference gives a token the id that the model has for it, or the next free one, whatever
  // the file says; a file that says something else was made for other ids.
  std::optional<TokenId> own = IdOf(token.content);
  if (!own) own = model.Find(token.content);
  const int64_t expected = own ? *own : std::max(id_limit_, model.token_count());
  if (token.id != expected) {
    throw ModelError("the added token \"{}\" has the id {}, expected {}", token.content, token.id,
                     expected);
  }
  token.matched = token.content;
  if (token.normalized && normalizer != nullptr) normalizer->Normalize(token.matched);
  if (!token.matched.empty()) {
    (token.normalized ? normalized_trie_ : raw_trie_).Insert(token.matched, token.id);
  }
  ids_[token.content] = token.id;
  id_limit_ = std::max(id_limit_, int64_t{token.id} + 1);
  tokens_[token.id] = std::move(token);
}

const AddedToken* AddedTokens::Find(TokenId id) const {
  const auto found = tokens_.find(id);
  return found == tokens_.end() ? nullptr : &found->second;
}

std::optional<TokenId> AddedTokens::IdOf(std::string_view content) const {
  const auto found = ids_.find(std::string(content));
  if (found == ids_.end()) return std::nullopt;
  return found->second;
}

void AddedTokens::FindAll(std::string_view text, const ByteTrie& trie,
                          std::vector<Found>& found) const {
  std::array<bool, 256> starts{};
  for (size_t byte = 0; byte < 256; ++byte) {
    starts[byte] = trie.StartsWith(static_cast<uint8_t>(byte));
  }
  size_t taken = 0;  // end of the last token, with the white space that it took
  for (size_t position = 0; position < text.size();) {
    if (!starts[static_cast<uint8_t>(text[position])]) {
      ++position;
      continue;
    }
    size_t length = 0;
    TokenId id = -1;
    trie.Prefixes(text.substr(position), [&](size_t matched, int32_t value) {
      length = matched;
      id = value;
    });
    if (length == 0) {
      ++position;
      continue;
    }
    size_t begin = position, end = position + length;
    position = end;
    const AddedToken& token = *Find(id);
    if (token.single_word) {
      const bool word_before = begin > 0 && IsWord(CharacterAt(text, PreviousStart(text, begin)));
      const bool word_after = end < text.size() && IsWord(CharacterAt(text, end));
      if (word_before || word_after) continue;
    }
    if (token.lstrip) {
      while (begin > taken) {
        const size_t previous = PreviousStart(text, begin);
        if (!IsWhiteSpace(CharacterAt(text, previous))) break;
        begin = previous;
      }
      begin = std::max(begin, taken);
    }
    if (token.rstrip) {
      while (end < text.size()) {
        size_t next = end;
        if (!IsWhiteSpace(DecodeNext(text, next))) break;
        end = next;
      }
    }
    taken = end;
    // White space that the token before took with it is not a token once more.
    if (begin < end) found.push_back({begin, end, id});
  }
}

}  // namespace natsl::model_adapters::tokenizers
