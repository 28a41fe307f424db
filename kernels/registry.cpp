// The explicit table of kernels, sorted by name.
#include "kernels/registry.h"

namespace natsl::kernels {

const std::vector<KernelEntry>& Kernels() {
  static const std::vector<KernelEntry> kKernels = {
      {"append_kv", "write keys and values of new tokens into pages", {"cpu"}},
      {"gemv", "few rows times a float32, bfloat16 or float16 weight", {"reference", "cpu"}},
      {"merge_norm", "gated merge of two RMS-normed branches (NAtS-L)", {"reference", "cpu"}},
      {"norm", "RMS, layer, L2 and sum norms with residual and gate", {"reference", "cpu"}},
      {"paged_attention",
       "causal softmax attention over paged keys and values",
       {"reference", "cpu"}},
      {"rope", "rotary position embedding, half-split pairs", {"reference", "cpu"}},
      {"short_conv", "causal depthwise convolution with carried tail", {"reference", "cpu"}},
  };
  return kKernels;
}

}  // namespace natsl::kernels
