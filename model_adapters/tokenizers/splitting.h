// Cutting a piece at matches, by the five behaviors of the reference.
#pragma once

#include <vector>

#include "core/json.h"
#include "model_adapters/tokenizers/pattern.h"
#include "model_adapters/tokenizers/pre_tokenizers.h"

namespace natsl::model_adapters::tokenizers {

/// What becomes of the delimiters: on "the-final--countdown" and "-",
enum class Behavior {
  kRemoved,             ///< the, final, countdown
  kIsolated,            ///< the, -, final, -, -, countdown
  kMergedWithPrevious,  ///< the-, final-, -, countdown
  kMergedWithNext,      ///< the, -final, -, -countdown
  kContiguous,          ///< the, -, final, --, countdown
};

/// Throws Error (model) where the field isn't one of the five names.
Behavior BehaviorField(const core::JsonObject& object, std::string_view key);

/// Appends the parts of `piece`. `matches` in order, not overlapping; with `invert`, what lies
/// between them are the delimiters.
void CutAtMatches(const Piece& piece, const std::vector<Match>& matches, Behavior behavior,
                  bool invert, std::vector<Piece>& out);

}  // namespace natsl::model_adapters::tokenizers
