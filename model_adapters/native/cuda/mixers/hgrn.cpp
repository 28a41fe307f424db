// HGRN: an elementwise gated recurrence.
#include "kernels/cuda/scan.h"
#include "model_adapters/native/cuda/mixers/forget_gate.h"
#include "model_adapters/native/cuda/mixers/mixer.h"

namespace natsl::model_adapters::native::cuda {
namespace {

class Hgrn final : public Mixer {
 public:
  Hgrn(const HgrnSpec& spec, const MixerContext& context)
      : width_(spec.width),
        proj_(context.Load({"i_proj", "f_proj", "g_proj"})),
        o_proj_(context.Load({"o_proj"})),
        norm_(context.loader, context.prefix + "g_norm", spec.output_norm, spec.width),
        lower_bound_(context.lower_bound) {
    if (spec.conv) {
      conv_ =
          ShortConv(context.loader, context.prefix, {"i_conv1d", "f_conv1d"}, false, context.pool);
    }
    state_ = context.pool.AddFixed(StateKind::kRecurrent, spec.width);
  }

  at::Tensor Forward(Hidden& h, const Pass& pass) const override {
    const at::Tensor y = proj_(h);
    at::Tensor mixed = y;
    if (conv_.defined()) {
      mixed = EmptyOn({h.rows(), conv_.channels()}, h.type());
      conv_.Into(Columns(y, 0, conv_.channels()), mixed, pass);
    }
    const at::Tensor g = EmptyOn({pass.tokens, width_}, at::kFloat);
    const at::Tensor x = EmptyOn({pass.tokens, width_}, h.type());
    ForgetGate(proj_.Part(mixed, kForget), proj_.Part(mixed, kInput), lower_bound_, g, x, pass);
    const at::Tensor o = EmptyOn({pass.tokens, width_}, h.type());
    kernels::cuda::ScanArgs args;
    args.dtype = DTypeOfTensor(x);
    args.x = x.data_ptr();
    args.x_stride = width_;
    args.g = g.data_ptr<float>();
    args.o = o.data_ptr();
    args.o_stride = width_;
    args.state = pass.pool->fixed(state_);
    args.slots = pass.slots;
    args.plan = pass.plan;
    args.sequences = pass.sequences;
    args.channels = width_;
    const at::Tensor workspace = EmptyBytes(kernels::cuda::ScanWorkspaceBytes(args));
    args.workspace = workspace.data_ptr();
    kernels::cuda::RunScan(args, pass.stream);
    return o_proj_.OfHeadNormed(norm_, o, proj_.Part(y, kGate));
  }

 private:
  enum Part : size_t { kInput, kForget, kGate };

  int64_t width_;
  Projection proj_, o_proj_;
  Norm norm_;
  ShortConv conv_;
  at::Tensor lower_bound_;
  int64_t state_ = 0;
};

}  // namespace

std::unique_ptr<Mixer> MakeHgrn(const HgrnSpec& spec, const MixerContext& context) {
  return std::make_unique<Hgrn>(spec, context);
}

}  // namespace natsl::model_adapters::native::cuda
