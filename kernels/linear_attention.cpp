// Validation of linear attention's arguments.
#include "kernels/linear_attention.h"

#include "kernels/mixer_checks.h"

namespace natsl::kernels {

void Validate(const LinearAttentionArgs& args) {
  const MixerChecks check("linear attention");
  check.ActivationType(args.dtype);
  check.Positive(args.heads, "heads");
  check.Divides(args.q_heads, "q_heads", args.heads, "heads");
  check.Divides(args.kv_heads, "kv_heads", args.heads, "heads");
  check.Divides(args.v_heads, "v_heads", args.heads, "heads");
  check.Positive(args.key_dim, "key_dim");
  check.Positive(args.value_dim, "value_dim");
  if (!check.Sequences(args.offsets, args.sequences, args.states)) return;
  check.RowStride(args.q_stride, "q_stride", args.q_heads * args.key_dim);
  check.RowStride(args.k_stride, "k_stride", args.kv_heads * args.key_dim);
  check.RowStride(args.v_stride, "v_stride", args.v_heads * args.value_dim);
  check.Pointer(args.q, "q");
  check.Pointer(args.k, "k");
  check.Pointer(args.v, "v");
  check.Pointer(args.g, "g");
  check.Pointer(args.o, "o");
}

}  // namespace natsl::kernels
