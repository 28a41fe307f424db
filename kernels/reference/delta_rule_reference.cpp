// The delta rule's definition: the plain recurrence in double precision, float32 activations.
#include <cmath>
#include <vector>

#include "core/check.h"
#include "kernels/delta_rule.h"

namespace natsl::kernels {
namespace {

using Matrix = std::vector<double>;

// One value head of one sequence, token by token.
void RunHead(const DeltaRuleArgs& args, int64_t sequence, int64_t head) {
  const int64_t key_dim = args.key_dim, value_dim = args.value_dim;
  const int64_t size = key_dim * value_dim;
  const int64_t qk_head = head / (args.value_heads / args.heads);
  const auto* q = static_cast<const float*>(args.q) + qk_head * key_dim;
  const auto* k = static_cast<const float*>(args.k) + qk_head * key_dim;
  const auto* v = static_cast<const float*>(args.v) + head * value_dim;
  auto* o = static_cast<float*>(args.o) + head * value_dim;
  float* stored = args.states[sequence] + head * size;
  const NatsDeltaState* nats = args.nats == nullptr ? nullptr : &args.nats[sequence];

  Matrix state(stored, stored + size);
  Matrix chunk_start;
  double chunk_log_decay = 0;
  int64_t position = 0, completed = 0;
  if (nats != nullptr) {
    position = nats->first_position;
    chunk_start.assign(nats->chunk_start + head * size, nats->chunk_start + (head + 1) * size);
    chunk_log_decay = nats->chunk_log_decay[head];
  }
  std::vector<double> update(static_cast<size_t>(value_dim));
  for (int64_t t = args.offsets[sequence]; t < args.offsets[sequence + 1]; ++t) {
    if (nats != nullptr && position % kPageTokens == 0) {
      chunk_start = state;
      chunk_log_decay = 0;
    }
    const double g = args.g == nullptr ? 0 : args.g[t * args.value_heads + head];
    const double beta = args.beta[t * args.value_heads + head];
    const float* k_row = k + t * args.k_stride;
    const float* q_row = q + t * args.q_stride;
    chunk_log_decay += g;
    for (double& s : state) s *= std::exp(g);
    for (int64_t j = 0; j < value_dim; ++j) {
      double seen = 0;
      for (int64_t i = 0; i < key_dim; ++i) seen += state[i * value_dim + j] * k_row[i];
      update[j] = beta * (v[t * args.v_stride + j] - seen);
    }
    for (int64_t i = 0; i < key_dim; ++i) {
      for (int64_t j = 0; j < value_dim; ++j) state[i * value_dim + j] += k_row[i] * update[j];
    }
    const bool past_only = args.own_chunk == OwnChunkRule::kPastOnly;
    const Matrix& read = past_only ? chunk_start : state;
    const double factor = args.scale * (past_only ? std::exp(chunk_log_decay) : 1);
    for (int64_t j = 0; j < value_dim; ++j) {
      double sum = 0;
      for (int64_t i = 0; i < key_dim; ++i) sum += read[i * value_dim + j] * q_row[i];
      o[t * args.value_heads * value_dim + j] = static_cast<float>(factor * sum);
    }
    ++position;
    if (nats != nullptr && position % kPageTokens == 0) {
      if (nats->keep[completed * args.value_heads + head] == 0) {
        const double decay = args.decay_over_softmax_chunks ? std::exp(chunk_log_decay) : 1;
        for (int64_t i = 0; i < size; ++i) state[i] = chunk_start[i] * decay;
      }
      ++completed;
    }
  }
  for (int64_t i = 0; i < size; ++i) stored[i] = static_cast<float>(state[i]);
  if (nats != nullptr && position % kPageTokens != 0) {
    for (int64_t i = 0; i < size; ++i) {
      nats->chunk_start[head * size + i] = static_cast<float>(chunk_start[i]);
    }
    nats->chunk_log_decay[head] = static_cast<float>(chunk_log_decay);
  }
}

}  // namespace

void RunDeltaRuleReference(const DeltaRuleArgs& args) {
  NATSL_CHECK(args.dtype == DType::kFloat32);
  for (int64_t sequence = 0; sequence < args.sequences; ++sequence) {
    if (args.offsets[sequence] == args.offsets[sequence + 1]) continue;
    for (int64_t head = 0; head < args.value_heads; ++head) RunHead(args, sequence, head);
  }
}

}  // namespace natsl::kernels
