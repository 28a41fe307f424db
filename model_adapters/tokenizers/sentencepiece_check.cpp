// Walks the fields of the protocol buffer down to the normalization rules.
#include "model_adapters/tokenizers/sentencepiece_check.h"

#include <cstdint>

#include "core/error.h"
#include "model_adapters/tokenizers/charsmap.h"

namespace natsl::model_adapters::tokenizers {
namespace {

// Field numbers of sentencepiece's ModelProto, SentencePiece, TrainerSpec and NormalizerSpec.
constexpr uint64_t kPieces = 1;
constexpr uint64_t kTrainer = 2;
constexpr uint64_t kNormalizer = 3;
constexpr uint64_t kDenormalizer = 5;
constexpr uint64_t kPieceText = 1;
constexpr uint64_t kPieceType = 3;
constexpr uint64_t kModelType = 3;
constexpr uint64_t kSpaceIsSuffix = 24;
constexpr uint64_t kCharsmap = 2;
constexpr uint64_t kAddDummyPrefix = 3;
constexpr uint64_t kRemoveExtraSpaces = 4;
constexpr uint64_t kEscapeSpaces = 5;

constexpr uint64_t kBpe = 2;          // of the model types
constexpr uint64_t kUserDefined = 4;  // of the piece types
constexpr std::string_view kWordMark = "\xE2\x96\x81";

class FieldReader {
 public:
  explicit FieldReader(std::string_view bytes) : bytes_(bytes), size_(bytes.size()) {}

  /// Moves to the next field; false at the end.
  bool Next() {
    if (bytes_.empty()) return false;
    const uint64_t tag = Varint();
    field_ = tag >> 3;
    content_ = {};
    number_ = 0;
    switch (tag & 7) {
      case 0:
        number_ = Varint();
        break;
      case 1:
        Take(8);
        break;
      case 2:
        content_ = Take(Varint());
        break;
      case 5:
        Take(4);
        break;
      default:
        throw Broken();
    }
    return true;
  }
  uint64_t field() const { return field_; }
  /// The bytes of a text, bytes or message field; empty for numbers.
  std::string_view content() const { return content_; }
  /// The value of a number field; 0 for others.
  uint64_t number() const { return number_; }

 private:
  Error Broken() const {
    return ModelError(
        "not a sentencepiece model: its protocol-buffer fields are broken near byte {}",
        size_ - bytes_.size());
  }
  uint64_t Varint() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (bytes_.empty()) break;
      const auto byte = static_cast<uint8_t>(bytes_.front());
      bytes_.remove_prefix(1);
      value |= uint64_t{byte & 0x7Fu} << shift;
      if (byte < 0x80) return value;
    }
    throw Broken();
  }
  std::string_view Take(uint64_t count) {
    if (count > bytes_.size()) throw Broken();
    const std::string_view taken = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return taken;
  }

  std::string_view bytes_;
  size_t size_;
  uint64_t field_ = 0;
  uint64_t number_ = 0;
  std::string_view content_;
};

/// A space mark after another character.
bool HoldsInnerSpace(std::string_view piece) {
  while (piece.starts_with(kWordMark)) piece.remove_prefix(kWordMark.size());
  return piece.find(kWordMark) != std::string_view::npos;
}

}  // namespace

void CheckSentencePieceModel(std::string_view bytes) {
  for (FieldReader model(bytes); model.Next();) {
    if (model.field() != kNormalizer && model.field() != kDenormalizer) continue;
    for (FieldReader rules(model.content()); rules.Next();) {
      if (rules.field() == kCharsmap && !rules.content().empty()) {
        Charsmap(rules.content()).CheckLookups();
      }
    }
  }
}

bool EncodesWordByWord(std::string_view bytes) {
  bool bpe = false, plain_rules = false, has_space = false;
  for (FieldReader model(bytes); model.Next();) {
    if (model.field() == kPieces) {
      for (FieldReader piece(model.content()); piece.Next();) {
        if (piece.field() == kPieceType && piece.number() == kUserDefined) return false;
        if (piece.field() != kPieceText) continue;
        if (HoldsInnerSpace(piece.content())) return false;
        has_space |= piece.content() == kWordMark;
      }
    } else if (model.field() == kTrainer) {
      for (FieldReader trainer(model.content()); trainer.Next();) {
        if (trainer.field() == kModelType) bpe = trainer.number() == kBpe;
        if (trainer.field() == kSpaceIsSuffix && trainer.number() != 0) return false;
      }
    } else if (model.field() == kNormalizer) {
      bool prefix = true, removes = true, escapes = true, charsmap = false;
      for (FieldReader rules(model.content()); rules.Next();) {
        if (rules.field() == kCharsmap) charsmap = !rules.content().empty();
        if (rules.field() == kAddDummyPrefix) prefix = rules.number() != 0;
        if (rules.field() == kRemoveExtraSpaces) removes = rules.number() != 0;
        if (rules.field() == kEscapeSpaces) escapes = rules.number() != 0;
      }
      plain_rules = prefix && !removes && escapes && !charsmap;
    }
  }
  return bpe && plain_rules && has_space;
}

}  // namespace natsl::model_adapters::tokenizers
