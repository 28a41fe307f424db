// The delta rule on the CPU.
#include "core/check.h"
#include "kernels/cpu/mixer_recurrence.h"
#include "kernels/delta_rule.h"

namespace natsl::kernels {

void RunDeltaRuleCpu(const DeltaRuleArgs& args) {
  NATSL_CHECK(args.dtype == DType::kFloat32);
  const int64_t blocks = (args.value_dim + kUnitColumns - 1) / kUnitColumns;
  RunDeltaRuleRecurrence(args, PartitionMixer(args.offsets, args.sequences, args.value_heads,
                                              blocks, PieceLength::kAny));
  StoreChunkLogDecay(args);
}

}  // namespace natsl::kernels
