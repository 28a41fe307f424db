// The vocabulary in flat memory: one string of bytes, spans by id, an open-addressing hash table.
#include "model_adapters/tokenizers/token_table.h"

#include <bit>
#include <cstring>

#include "core/error.h"

namespace natsl::model_adapters::tokenizers {

uint64_t HashBytes(std::string_view bytes) {
  constexpr uint64_t kPrime = 0x9E3779B97F4A7C15u;
  uint64_t hash = bytes.size() * kPrime;
  size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) {
    uint64_t word;
    std::memcpy(&word, bytes.data() + i, 8);
    hash = std::rotl((hash ^ word) * kPrime, 29);
  }
  if (i < bytes.size()) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + i, bytes.size() - i);
    hash = std::rotl((hash ^ word) * kPrime, 29);
  }
  hash *= kPrime;
  return hash ^ (hash >> 32);
}

void TokenTable::Reserve(size_t tokens, size_t bytes) {
  bytes_.reserve(bytes);
  spans_.reserve(tokens);
  Grow(std::bit_ceil(tokens * 2 + 16));
}

size_t TokenTable::FindSlot(std::string_view token, uint64_t hash) const {
  const size_t mask = slots_.size() - 1;
  const auto short_hash = static_cast<uint32_t>(hash);
  for (size_t slot = hash & mask;; slot = (slot + 1) & mask) {
    if (slots_[slot].id < 0) return slot;
    if (slots_[slot].hash == short_hash && Token(slots_[slot].id) == token) return slot;
  }
}

void TokenTable::Grow(size_t slots) {
  if (slots <= slots_.size()) return;
  std::vector<Slot> old(slots);
  old.swap(slots_);
  for (const Slot& entry : old) {
    if (entry.id < 0) continue;
    const std::string_view token = Token(entry.id);
    slots_[FindSlot(token, HashBytes(token))] = entry;
  }
}

void TokenTable::Add(std::string_view token, int64_t id) {
  if (id < 0 || id >= kMaxVocabulary) {
    throw ModelError("the token \"{}\" has the id {}, expected 0 to {}", token, id,
                     kMaxVocabulary - 1);
  }
  if (HasId(id)) {
    throw ModelError("the id {} is given twice, to \"{}\" and to \"{}\"", id,
                     Token(static_cast<TokenId>(id)), token);
  }
  const auto index = static_cast<size_t>(id);
  if (index >= spans_.size()) spans_.resize(index + 1);
  spans_[index] = {bytes_.size(), static_cast<uint32_t>(token.size()), true};
  bytes_ += token;
  if (static_cast<size_t>(count_ + 1) * 2 > slots_.size()) {
    Grow(slots_.empty() ? 64 : slots_.size() * 2);
  }
  const uint64_t hash = HashBytes(token);
  Slot& slot = slots_[FindSlot(token, hash)];
  if (slot.id < 0) ++count_;
  slot = {static_cast<uint32_t>(hash), static_cast<TokenId>(id)};
}

std::optional<TokenId> TokenTable::Find(std::string_view token) const {
  if (slots_.empty()) return std::nullopt;
  const Slot& slot = slots_[FindSlot(token, HashBytes(token))];
  if (slot.id < 0) return std::nullopt;
  return slot.id;
}

bool TokenTable::HasId(int64_t id) const {
  return id >= 0 && id < id_limit() && spans_[static_cast<size_t>(id)].used;
}

std::string_view TokenTable::Token(TokenId id) const {
  if (id < 0 || id >= id_limit()) return {};
  const Span& span = spans_[static_cast<size_t>(id)];
  return std::string_view(bytes_).substr(span.offset, span.length);
}

}  // namespace natsl::model_adapters::tokenizers
