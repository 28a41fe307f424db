// The chunked forms of the recurrent mixers, by what computes their products.
#pragma once

#include "kernels/cpu/amx.h"
#include "kernels/cpu/mixer_partition.h"
#include "kernels/delta_rule.h"
#include "kernels/linear_attention.h"

namespace natsl::kernels {

enum class ChunkProducts { kVectors, kTiles };

/// The better one here.
inline ChunkProducts BestChunkProducts() {
  return AmxUsable() ? ChunkProducts::kTiles : ChunkProducts::kVectors;
}

/// Run*Cpu with the products computed as told. kTiles needs AmxUsable().
void RunDeltaRuleBy(const DeltaRuleArgs& args, ChunkProducts products);
void RunLinearAttentionBy(const LinearAttentionArgs& args, ChunkProducts products);

/// One item of PartitionChunked in tiles.
void RunDeltaRuleTilesItem(const DeltaRuleArgs& args, const MixerItem& item);
void RunLinearTilesItem(const LinearAttentionArgs& args, const MixerItem& item);

}  // namespace natsl::kernels
