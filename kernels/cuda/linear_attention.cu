// Linear attention: which path a call takes.
#include "kernels/cuda/device.cuh"
#include "kernels/cuda/recurrence.h"

namespace natsl::kernels::cuda {

int64_t LinearAttentionWorkspaceBytes(const LinearAttentionArgs&) { return 0; }

void RunLinearAttention(const LinearAttentionArgs& a, cudaStream_t stream) {
  const auto divides = [&](int64_t part) { return part > 0 && a.heads % part == 0; };
  Require(divides(a.q_heads) && divides(a.kv_heads) && divides(a.v_heads),
          "linear attention: q_heads, kv_heads or v_heads isn't a divisor of heads");
  Recurrence r;
  r.dtype = a.dtype;
  r.q = a.q;
  r.k = a.k;
  r.v = a.v;
  r.o = a.o;
  r.q_stride = a.q_stride;
  r.k_stride = a.k_stride;
  r.v_stride = a.v_stride;
  r.o_stride = a.o_stride;
  r.q_share = a.heads / a.q_heads;
  r.k_share = a.heads / a.kv_heads;
  r.v_share = a.heads / a.v_heads;
  r.g = a.g;
  r.decay = a.decay;
  r.bonus = a.bonus;
  r.state = a.state;
  r.slots = a.slots;
  r.sequences = a.sequences;
  r.heads = a.heads;
  r.key_dim = a.key_dim;
  r.value_dim = a.value_dim;
  r.scale = static_cast<float>(a.scale);
  if (a.plan != nullptr) r.offsets = a.plan->offsets;
  RunRecurrence(r, stream);
}

}  // namespace natsl::kernels::cuda
