// Conventions of every kernel.
//
// - Sequences are packed: row r of an activation is a token; sequence s owns rows
//   [offsets[s], offsets[s+1]) of `sequences` + 1 offsets (int64_t). No padding.
// - State of sequence s is reached through a pointer array, so that forks can share and nothing is
//   gathered. State is float32 whatever the activations' dtype. A state is read and updated in
//   place.
// - Activations are row-major and contiguous unless a stride (in elements) is given.
// - `dtype` is that of the activations. CPU kernels take kFloat32; CUDA kernels kFloat32,
// kBFloat16.
// - Validate(args) throws natsl::Error (internal) naming the argument; Run*(args) assumes it
// passed.
// - Run*Reference: double precision, the plain recurrence: the definition. Run*Cpu: fast.
// - CPU kernels use the ambient OpenMP team and give the same bytes whatever its size.
#pragma once

#include <cstdint>

#include "core/dtype.h"

namespace natsl::kernels {

using core::DType;

enum class ActivationKind { kIdentity, kSilu };

/// Tokens of a KV page and of a chunk of the linear forms.
constexpr int64_t kPageTokens = 64;

}  // namespace natsl::kernels
