// Validation of the delta rule's arguments.
#include "kernels/delta_rule.h"

#include "kernels/mixer_checks.h"

namespace natsl::kernels {

void Validate(const DeltaRuleArgs& args) {
  const MixerChecks check("delta rule");
  check.ActivationType(args.dtype);
  check.Positive(args.value_heads, "value_heads");
  check.Divides(args.heads, "heads", args.value_heads, "value_heads");
  check.Positive(args.key_dim, "key_dim");
  check.Positive(args.value_dim, "value_dim");
  if (args.own_chunk == OwnChunkRule::kPastOnly) check.Pointer(args.nats, "nats (kPastOnly)");
  if (!check.Sequences(args.offsets, args.sequences, args.states)) return;
  check.RowStride(args.q_stride, "q_stride", args.heads * args.key_dim);
  check.RowStride(args.k_stride, "k_stride", args.heads * args.key_dim);
  check.RowStride(args.v_stride, "v_stride", args.value_heads * args.value_dim);
  check.Pointer(args.q, "q");
  check.Pointer(args.k, "k");
  check.Pointer(args.v, "v");
  check.Pointer(args.beta, "beta");
  check.Pointer(args.o, "o");
  if (args.nats == nullptr) return;
  for (int64_t s = 0; s < args.sequences; ++s) {
    const int64_t rows = args.offsets[s + 1] - args.offsets[s];
    if (rows == 0) continue;
    const NatsDeltaState& nats = args.nats[s];
    check.Pointer(nats.chunk_start, "nats.chunk_start");
    check.Pointer(nats.chunk_log_decay, "nats.chunk_log_decay");
    if (nats.first_position < 0) {
      throw InternalError("delta rule: nats[{}].first_position is {}, expected at least 0", s,
                          nats.first_position);
    }
    if (nats.first_position % kPageTokens + rows >= kPageTokens)
      check.Pointer(nats.keep, "nats.keep");
  }
}

}  // namespace natsl::kernels
