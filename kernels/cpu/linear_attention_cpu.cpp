// Linear attention on the CPU.
#include "core/check.h"
#include "kernels/cpu/mixer_recurrence.h"
#include "kernels/linear_attention.h"

namespace natsl::kernels {

void RunLinearAttentionCpu(const LinearAttentionArgs& args) {
  NATSL_CHECK(args.dtype == DType::kFloat32);
  const int64_t blocks = (args.value_dim + kUnitColumns - 1) / kUnitColumns;
  RunLinearAttentionRecurrence(
      args, PartitionMixer(args.offsets, args.sequences, args.heads, blocks, PieceLength::kAny));
}

}  // namespace natsl::kernels
