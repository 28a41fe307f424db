// Linear attention's definition: the plain recurrence in double precision, float32 activations.
#include <cmath>
#include <vector>

#include "core/check.h"
#include "kernels/linear_attention.h"

namespace natsl::kernels {
namespace {

double LogDecay(const LinearAttentionArgs& args, int64_t t, int64_t head, int64_t channel) {
  switch (args.decay) {
    case DecayKind::kScalarPerHead:
      return args.g[head];
    case DecayKind::kScalarPerToken:
      return args.g[t * args.heads + head];
    case DecayKind::kVectorPerToken:
      break;
  }
  const int64_t kv_head = head / (args.heads / args.kv_heads);
  return args.g[(t * args.kv_heads + kv_head) * args.key_dim + channel];
}

// One head of one sequence, token by token.
void RunHead(const LinearAttentionArgs& args, int64_t sequence, int64_t head) {
  const int64_t key_dim = args.key_dim, value_dim = args.value_dim;
  const int64_t size = key_dim * value_dim;
  const auto* q = static_cast<const float*>(args.q) + head / (args.heads / args.q_heads) * key_dim;
  const auto* k = static_cast<const float*>(args.k) + head / (args.heads / args.kv_heads) * key_dim;
  const auto* v =
      static_cast<const float*>(args.v) + head / (args.heads / args.v_heads) * value_dim;
  auto* o = static_cast<float*>(args.o) + head * value_dim;
  float* stored = args.states[sequence] + head * size;

  std::vector<double> state(stored, stored + size);
  std::vector<double> sum(static_cast<size_t>(value_dim));
  for (int64_t t = args.offsets[sequence]; t < args.offsets[sequence + 1]; ++t) {
    const float* q_row = q + t * args.q_stride;
    const float* k_row = k + t * args.k_stride;
    const float* v_row = v + t * args.v_stride;
    sum.assign(sum.size(), 0.0);
    for (int64_t i = 0; i < key_dim; ++i) {
      const double decay = std::exp(LogDecay(args, t, head, i));
      const double query = q_row[i], key = k_row[i];
      for (int64_t j = 0; j < value_dim; ++j) {
        double& cell = state[i * value_dim + j];
        const double before = cell;
        cell = decay * before + key * v_row[j];
        if (args.bonus == nullptr) {
          sum[j] += query * cell;
        } else {
          sum[j] += query * (before + args.bonus[head * key_dim + i] * key * v_row[j]);
        }
      }
    }
    for (int64_t j = 0; j < value_dim; ++j) {
      o[t * args.heads * value_dim + j] = static_cast<float>(args.scale * sum[j]);
    }
  }
  for (int64_t i = 0; i < size; ++i) stored[i] = static_cast<float>(state[i]);
}

}  // namespace

void RunLinearAttentionReference(const LinearAttentionArgs& args) {
  NATSL_CHECK(args.dtype == DType::kFloat32);
  for (int64_t sequence = 0; sequence < args.sequences; ++sequence) {
    if (args.offsets[sequence] == args.offsets[sequence + 1]) continue;
    for (int64_t head = 0; head < args.heads; ++head) RunHead(args, sequence, head);
  }
}

}  // namespace natsl::kernels
