// The explicit table of kernels, sorted by name.
#include "kernels/registry.h"

namespace natsl::kernels {

const std::vector<KernelEntry>& Kernels() {
  static const std::vector<KernelEntry> kKernels = {
      {"append_kv", "write keys and values of new tokens into pages", {"cpu", "cuda"}},
      {"delta_rule", "gated delta rule, NAtS-L's chunk states", {"reference", "cpu", "cuda"}},
      {"gemv", "few rows times a float32, bfloat16 or float16 weight", {"reference", "cpu"}},
      {"linear_attention",
       "additive update with scalar or vector decay (GLA, RetNet, HGRN2, Mamba2, RWKV6)",
       {"reference", "cpu", "cuda"}},
      {"log_sum_exp",
       "largest value and log of the sum of exponentials of a row",
       {"reference", "cpu"}},
      {"matmul", "many rows times a float32 or bfloat16 weight in matrix tiles", {"cpu"}},
      {"merge_norm",
       "gated merge of two RMS-normed branches (NAtS-L)",
       {"reference", "cpu", "cuda"}},
      {"norm", "RMS, layer, L2 and sum norms with residual and gate", {"reference", "cpu", "cuda"}},
      {"paged_attention",
       "causal softmax attention over paged keys and values",
       {"reference", "cpu", "cuda"}},
      {"rope", "rotary position embedding, half-split pairs", {"reference", "cpu", "cuda"}},
      {"scan", "elementwise gated scan (HGRN)", {"reference", "cpu", "cuda"}},
      {"short_conv",
       "causal depthwise convolution with carried tail",
       {"reference", "cpu", "cuda"}},
  };
  return kKernels;
}

}  // namespace natsl::kernels
