// The pre-tokenizers of tokenizer.json: pieces of text into smaller pieces.
#pragma once

#include <deque>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace natsl::model_adapters::tokenizers {

struct Piece {
  std::string_view text;
  bool at_start = false;  ///< begins where the whole text begins
};

/// Owns the texts of pieces that aren't part of the text they came from.
using Arena = std::deque<std::string>;

/// Thread safe after construction.
class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;

  /// Appends the pieces of `piece` (never empty ones) to `out`.
  virtual void Split(const Piece& piece, std::vector<Piece>& out, Arena& arena) const = 0;

  /// Whether the last thing done to pieces is to map their bytes to the byte-level alphabet.
  virtual bool MapsBytes() const { return false; }
  /// Leaves that mapping out, for a model that takes raw bytes.
  virtual void LeaveBytesRaw() {}
};

/// Null for null. Throws Error (model): a type that isn't known (by its name), a wrong field.
std::unique_ptr<PreTokenizer> MakePreTokenizer(const nlohmann::ordered_json& json,
                                               const std::string& where);

}  // namespace natsl::model_adapters::tokenizers
