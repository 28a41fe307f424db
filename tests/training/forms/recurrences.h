// The plain recurrences, token by token, that the chunked forms must equal: definitions for tests.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <string>
#include <vector>

#include "training/forms/delta_rule.h"

namespace natsl::training {

/// forms/delta_rule.h.
at::Tensor DeltaRecurrence(const DeltaRuleInputs& inputs);
/// forms/linear_attention.h; g [B, H, T] or [B, H, T, K].
at::Tensor LinearRecurrence(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const at::Tensor& g, const at::Tensor& bonus = {});
at::Tensor ScanRecurrence(const at::Tensor& x, const at::Tensor& g);
/// forms/chunk_attention.h, with any gates.
at::Tensor GatedAttention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                          const at::Tensor& chosen, const at::Tensor& gate, double scale);

/// Standard normal float64 from a seed.
at::Tensor Random(std::vector<int64_t> shape, uint64_t seed);

using Form = std::function<at::Tensor(const std::vector<at::Tensor>&)>;
/// Values and gradients (of a random linear functional) of two forms agree on `inputs`: each
/// tensor's largest difference is at most `tolerance` times its largest entry, or `tolerance`.
void ExpectEqualForms(const Form& form, const Form& definition,
                      const std::vector<at::Tensor>& inputs, double tolerance);

/// The largest |a - b|.
double Difference(const at::Tensor& a, const at::Tensor& b);

}  // namespace natsl::training
