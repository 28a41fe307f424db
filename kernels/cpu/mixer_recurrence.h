// The mixers' plain recurrences in float32, vectorised over value columns. The Run*Cpu functions
// use them for short pieces and decode steps; the benchmarks compare the chunked forms with them.
#pragma once

#include "kernels/cpu/mixer_partition.h"
#include "kernels/delta_rule.h"
#include "kernels/linear_attention.h"

namespace natsl::kernels {

/// Every row of the sequences of `items` by the recurrence. Groups are value heads, units their
/// column blocks. chunk_log_decay of `nats` isn't written (StoreChunkLogDecay does).
void RunDeltaRuleRecurrence(const DeltaRuleArgs& args, const std::vector<MixerItem>& items);

/// As above; groups are heads.
void RunLinearAttentionRecurrence(const LinearAttentionArgs& args,
                                  const std::vector<MixerItem>& items);

/// Brings chunk_log_decay of every sequence and head up to its last row.
void StoreChunkLogDecay(const DeltaRuleArgs& args);

}  // namespace natsl::kernels
