// HGRN: an elementwise gated recurrence.
#include "kernels/linear_attention.h"
#include "kernels/scan.h"
#include "model_adapters/native/mixers/lower_bound.h"
#include "model_adapters/native/mixers/mixer.h"

namespace natsl::model_adapters::native {
namespace {

class Hgrn final : public Mixer {
 public:
  Hgrn(const HgrnSpec& spec, const MixerContext& context)
      : width_(spec.width),
        i_proj_(context.Load("i_proj")),
        f_proj_(context.Load("f_proj")),
        g_proj_(context.Load("g_proj")),
        o_proj_(context.Load("o_proj")),
        norm_(context.loader, context.prefix + "g_norm", spec.output_norm, spec.width),
        lower_bound_(context.lower_bound) {
    if (spec.conv) {
      i_conv_ = ShortConv(context.loader, context.prefix + "i_conv1d", false);
      f_conv_ = ShortConv(context.loader, context.prefix + "f_conv1d", false);
    }
  }

  at::Tensor Forward(const at::Tensor& h, Batch& batch, int64_t layer) const override {
    at::Tensor i = i_proj_(h), f = f_proj_(h);
    if (i_conv_.defined()) {
      i = i_conv_(i, batch, layer, 0);
      f = f_conv_(f, batch, layer, 1);
    }
    const at::Tensor log_gate = LogForgetGate(f, lower_bound_);
    ActivateAndMultiply(i, at::expm1(log_gate).neg_(), Activation::kSilu);
    const std::vector<float*> states = RecurrentStates(batch, layer, width_);
    at::Tensor o = at::empty({batch.tokens(), width_}, at::kFloat);
    kernels::ScanArgs args;
    args.x = i.data_ptr<float>();
    args.g = log_gate.data_ptr<float>();
    args.o = o.data_ptr<float>();
    args.states = states.data();
    args.offsets = batch.offsets.data();
    args.sequences = batch.sequences();
    args.channels = width_;
    kernels::RunScanCpu(args);
    return o_proj_(norm_.Gated(o, g_proj_(h)));
  }

 private:
  int64_t width_;
  Linear i_proj_, f_proj_, g_proj_, o_proj_;
  Norm norm_;
  ShortConv i_conv_, f_conv_;
  at::Tensor lower_bound_;
};

}  // namespace

std::unique_ptr<Mixer> MakeHgrn(const HgrnSpec& spec, const MixerContext& context) {
  return std::make_unique<Hgrn>(spec, context);
}

}  // namespace natsl::model_adapters::native
