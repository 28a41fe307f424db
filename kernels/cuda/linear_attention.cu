// Linear attention: which path a call takes.
#include "kernels/cuda/chunked.h"
#include "kernels/cuda/device.cuh"
#include "kernels/cuda/recurrence.h"

namespace natsl::kernels::cuda {

namespace {

struct Scratch {
  bool chunked = false;
  Chunked form;
};

Scratch LayOut(Carver& carver, const LinearAttentionArgs& a) {
  Scratch scratch;
  if (a.plan == nullptr) return scratch;
  Chunked& c = scratch.form;
  c.vector_decay = a.decay == DecayKind::kVectorPerToken;
  c.q = a.q;
  c.k = a.k;
  c.v = a.v;
  c.o = a.o;
  c.q_stride = a.q_stride;
  c.k_stride = a.k_stride;
  c.v_stride = a.v_stride;
  c.o_stride = a.o_stride;
  c.q_share = a.heads / a.q_heads;
  c.k_share = a.heads / a.kv_heads;
  c.v_share = a.heads / a.v_heads;
  c.g = a.g;
  c.bonus = a.bonus;
  c.decay = a.decay;
  c.state = a.state;
  c.slots = a.slots;
  c.plan = *a.plan;
  c.heads = a.heads;
  c.key_dim = a.key_dim;
  c.value_dim = a.value_dim;
  c.scale = static_cast<float>(a.scale);
  // A bonus with a scalar decay is left to the recurrence: no model has it.
  scratch.chunked =
      a.dtype == DType::kBFloat16 && Supported(c) && (a.bonus == nullptr || c.vector_decay);
  if (!scratch.chunked) return scratch;
  const int64_t bytes = LayOutChunked(c, nullptr);
  LayOutChunked(c, carver.Take<char>(bytes));
  return scratch;
}

}  // namespace

int64_t LinearAttentionWorkspaceBytes(const LinearAttentionArgs& a) {
  Carver carver(nullptr);
  LayOut(carver, a);
  return carver.used();
}

void RunLinearAttention(const LinearAttentionArgs& a, cudaStream_t stream) {
  const auto divides = [&](int64_t part) { return part > 0 && a.heads % part == 0; };
  Require(divides(a.q_heads) && divides(a.kv_heads) && divides(a.v_heads),
          "linear attention: q_heads, kv_heads or v_heads isn't a divisor of heads");
  Carver carver(a.workspace);
  if (const Scratch scratch = LayOut(carver, a); scratch.chunked) {
    RunChunked(scratch.form, stream);
    return;
  }
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
