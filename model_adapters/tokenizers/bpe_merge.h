// The merge loop of byte-pair encoding.
#pragma once

#include <vector>

#include "model_adapters/tokenizers/bpe.h"

namespace natsl::model_adapters::tokenizers {

/// Merges neighbours in place until none is left, always the lowest rank and of equal ranks the
/// leftmost. O(n^2) with a small constant for short pieces, O(n log n) for long ones.
void MergeByRank(const MergeTable& merges, std::vector<TokenId>& symbols);

}  // namespace natsl::model_adapters::tokenizers
