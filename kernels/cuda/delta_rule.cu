// The delta rule: which path a call takes.
#include "kernels/cuda/chunked.h"
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

// A prefill's form and its scratch.
struct Scratch {
  bool chunked = false;
  Chunked form;
  float* chunk_start = nullptr;
};

Scratch LayOut(Carver& carver, const DeltaRuleArgs& a) {
  Scratch scratch;
  if (a.plan == nullptr) return scratch;
  Chunked& c = scratch.form;
  c.delta = true;
  c.normalize_qk = a.normalize_qk;
  c.q = a.q;
  c.k = a.k;
  c.v = a.v;
  c.o = a.o;
  c.q_stride = a.q_stride;
  c.k_stride = a.k_stride;
  c.v_stride = a.v_stride;
  c.o_stride = a.o_stride;
  c.q_share = c.k_share = a.value_heads / a.heads;
  c.g = a.g;
  c.beta = a.beta;
  c.state = a.state;
  c.slots = a.slots;
  c.plan = *a.plan;
  c.nats = a.nats != nullptr;
  if (c.nats) c.nats_state = *a.nats;
  c.heads = a.value_heads;
  c.key_dim = a.key_dim;
  c.value_dim = a.value_dim;
  c.scale = static_cast<float>(a.scale);
  scratch.chunked = a.dtype == DType::kBFloat16 && Supported(c) &&
                    !(c.nats && c.nats_state.own_chunk == OwnChunkRule::kPastOnly);
  if (!scratch.chunked) {
    if (c.nats) {
      scratch.chunk_start =
          carver.Take<float>(a.sequences * a.value_heads * a.key_dim * a.value_dim);
    }
    return scratch;
  }
  const int64_t bytes = LayOutChunked(c, nullptr);
  LayOutChunked(c, carver.Take<char>(bytes));
  return scratch;
}

}  // namespace

int64_t DeltaRuleWorkspaceBytes(const DeltaRuleArgs& a) {
  Carver carver(nullptr);
  LayOut(carver, a);
  return carver.used();
}

void RunDeltaRule(const DeltaRuleArgs& a, cudaStream_t stream) {
  Require(a.heads > 0 && a.value_heads % a.heads == 0,
          "delta rule: heads isn't a divisor of value_heads");
  Require(a.nats == nullptr || a.value_heads % a.nats->softmax_heads == 0,
          "delta rule: softmax_heads isn't a divisor of value_heads");
  Carver carver(a.workspace);
  const Scratch scratch = LayOut(carver, a);
  Recurrence r = ToRecurrence(a);
  r.chunk_start = scratch.chunk_start;
  if (scratch.chunked) {
    RunChunked(scratch.form, stream);
  } else {
    RunRecurrence(r, stream);
  }
  if (r.nats) RunChunkLogDecay(r, stream);
}

}  // namespace natsl::kernels::cuda
