// The delta rule: which path a call takes.
#include "kernels/cuda/device.cuh"
#include "kernels/cuda/recurrence.h"

namespace natsl::kernels::cuda {
namespace {

Recurrence ToRecurrence(const DeltaRuleArgs& a) {
  Recurrence r;
  r.dtype = a.dtype;
  r.delta = true;
  r.normalize_qk = a.normalize_qk;
  r.q = a.q;
  r.k = a.k;
  r.v = a.v;
  r.o = a.o;
  r.q_stride = a.q_stride;
  r.k_stride = a.k_stride;
  r.v_stride = a.v_stride;
  r.o_stride = a.o_stride;
  r.q_share = r.k_share = a.value_heads / a.heads;
  r.g = a.g;
  r.beta = a.beta;
  r.state = a.state;
  r.slots = a.slots;
  r.sequences = a.sequences;
  r.heads = a.value_heads;
  r.key_dim = a.key_dim;
  r.value_dim = a.value_dim;
  r.scale = static_cast<float>(a.scale);
  if (a.plan != nullptr) {
    r.offsets = a.plan->offsets;
    r.first = a.plan->first;
    r.sequence_chunk = a.plan->sequence_chunk;
  } else {
    r.first = a.positions;
  }
  if (a.nats != nullptr) {
    r.nats = true;
    r.nats_state = *a.nats;
  }
  return r;
}

void LayOut(Carver& carver, const DeltaRuleArgs& a, Recurrence& r) {
  if (a.plan == nullptr || a.nats == nullptr) return;
  r.chunk_start = carver.Take<float>(a.sequences * a.value_heads * a.key_dim * a.value_dim);
}

}  // namespace

int64_t DeltaRuleWorkspaceBytes(const DeltaRuleArgs& a) {
  Carver carver(nullptr);
  Recurrence r;
  LayOut(carver, a, r);
  return carver.used();
}

void RunDeltaRule(const DeltaRuleArgs& a, cudaStream_t stream) {
  Require(a.heads > 0 && a.value_heads % a.heads == 0,
          "delta rule: heads isn't a divisor of value_heads");
  Require(a.nats == nullptr || a.value_heads % a.nats->softmax_heads == 0,
          "delta rule: softmax_heads isn't a divisor of value_heads");
  Recurrence r = ToRecurrence(a);
  Carver carver(a.workspace);
  LayOut(carver, a, r);
  RunRecurrence(r, stream);
  if (r.nats) RunChunkLogDecay(r, stream);
}

}  // namespace natsl::kernels::cuda
