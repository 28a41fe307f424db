// How a network's parameters start.
#pragma once

#include "training/layers/pass.h"

namespace natsl::training {

/// Every slot of the spec drawn from the seed, float32 on the CPU, as the reference libraries start
/// them (flash-linear-attention): matrices, convolutions and embeddings normal with deviation
/// `range`; biases, lower bounds, token-shift mixes and bonuses zero; norms and Mamba2's D one;
/// exp(A_log) uniform in (0, 16); softplus(dt_bias) log-uniform in [0.001, 0.1]; Mamba2's and
/// RWKV6's own rules for their projections. A slot's values depend on the seed and its name alone.
TensorMap DrawParameters(const model_adapters::ModelSpec& spec, uint64_t seed, double range);

}  // namespace natsl::training
