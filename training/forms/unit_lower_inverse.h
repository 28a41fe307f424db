// The inverse of unit lower triangular matrices, which the delta rule's chunks need.
#pragma once

#include <ATen/core/Tensor.h>

namespace natsl::training {

/// (I + a)^-1 for a [N, C, C] strictly lower triangular, C = 16, 32, 64, ...: in the state's type
/// inside, rounded once. By halves (an exact identity, as stable as substitution), in products of
/// whole batches only. The gradient's upper triangle and diagonal are those of a full matrix: they
/// mean nothing where `a` is zero by construction.
at::Tensor UnitLowerInverse(const at::Tensor& a);

}  // namespace natsl::training
