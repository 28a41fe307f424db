// HGRN: an elementwise gated recurrence.
#include "model_adapters/native/torch_headers.h"
#include "training/forms/linear_attention.h"
#include "training/layers/lower_bounds.h"
#include "training/layers/mixers.h"
#include "training/layers/ops.h"

namespace natsl::training {

at::Tensor Mix(const model_adapters::HgrnSpec& spec, const at::Tensor& h,
               const LayerWeights& weights, const Pass&, const at::Tensor& lower_bound) {
  std::vector<at::Tensor> parts =
      LinearMany(h, {weights["i_proj.weight"], weights["f_proj.weight"], weights["g_proj.weight"]});
  if (spec.conv) {
    const char* const names[] = {"i_conv1d", "f_conv1d"};
    for (size_t i = 0; i < 2; ++i) {
      parts[i] = ShortConv(parts[i], weights[std::string(names[i]) + ".weight"],
                           weights.Optional(std::string(names[i]) + ".bias"), false);
    }
  }
  const at::Tensor g = LogForgetGate(parts[1], lower_bound);
  const at::Tensor x = at::silu(parts[0]) * at::expm1(g).neg();
  const at::Tensor o = GatedScan(x, g).to(h.scalar_type());
  const at::Tensor y = ApplyNorm(o, spec.output_norm, weights.Optional("g_norm.weight"), {});
  return Linear(y * at::silu(parts[2]), weights["o_proj.weight"]);
}

}  // namespace natsl::training
