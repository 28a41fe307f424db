// Gated, plain and RWKV6's channel mix.
#include "model_adapters/native/cuda/mlp.h"

#include "core/error.h"
#include "model_adapters/native/cuda/token_shift.h"

namespace natsl::model_adapters::native::cuda {
namespace {

class GatedMlp final : public Mlp {
 public:
  GatedMlp(const MlpSpec& spec, const DeviceLoader& loader, const std::string& prefix)
      : activation_(UnaryOf(spec.activation)),
        gate_up_(loader, prefix, {"gate_proj", "up_proj"}),
        down_(loader, prefix, {"down_proj"}) {}

  at::Tensor Forward(Hidden& h, const Pass&) const override {
    const at::Tensor y = gate_up_(h);
    const at::Tensor gate = gate_up_.Part(y, 0), up = gate_up_.Part(y, 1);
    if (activation_ == kernels::cuda::Unary::kSilu) return down_.OfGated(gate, up);
    return down_(Activated(gate, activation_, up));
  }

 private:
  kernels::cuda::Unary activation_;
  Projection gate_up_, down_;
};

class PlainMlp final : public Mlp {
 public:
  PlainMlp(const MlpSpec& spec, const DeviceLoader& loader, const std::string& prefix)
      : activation_(UnaryOf(spec.activation)),
        up_(loader, prefix, {"up_proj"}),
        down_(loader, prefix, {"down_proj"}) {}

  at::Tensor Forward(Hidden& h, const Pass&) const override {
    const at::Tensor y = up_(h);
    ActivateInto(y, activation_, {}, y);
    return down_(y);
  }

 private:
  kernels::cuda::Unary activation_;
  Projection up_, down_;
};

class Rwkv6ChannelMix final : public Mlp {
 public:
  Rwkv6ChannelMix(const MlpSpec& spec, const DeviceLoader& loader, const std::string& prefix,
                  int64_t hidden, StatePool& pool)
      : activation_(UnaryOf(spec.activation)),
        shift_(hidden, pool),
        key_mu_(loader.Small(prefix + "key.mu")),
        receptance_mu_(loader.Small(prefix + "receptance.mu")),
        key_(loader, prefix, {"key.linear"}),
        value_(loader, prefix, {"value"}),
        receptance_(loader, prefix, {"receptance.linear"}) {}

  at::Tensor Forward(Hidden& hidden, const Pass& pass) const override {
    const at::Tensor& h = hidden.tensor();
    const at::Tensor delta = shift_.Difference(h, pass);
    const at::Tensor key = key_(Mixed(h, delta, key_mu_, {}, pass));
    ActivateInto(key, activation_, {}, key);
    const at::Tensor receptance = receptance_(Mixed(h, delta, receptance_mu_, {}, pass));
    return Activated(receptance, kernels::cuda::Unary::kSigmoid, value_(key));
  }

 private:
  kernels::cuda::Unary activation_;
  TokenShift shift_;
  at::Tensor key_mu_, receptance_mu_;
  Projection key_, value_, receptance_;
};

}  // namespace

std::unique_ptr<Mlp> MakeMlp(const MlpSpec& spec, const DeviceLoader& loader,
                             const std::string& prefix, int64_t hidden, StatePool& pool) {
  switch (spec.kind) {
    case MlpSpec::Kind::kNone:
      return nullptr;
    case MlpSpec::Kind::kGated:
      return std::make_unique<GatedMlp>(spec, loader, prefix);
    case MlpSpec::Kind::kPlain:
      return std::make_unique<PlainMlp>(spec, loader, prefix);
    case MlpSpec::Kind::kRwkv6ChannelMix:
      return std::make_unique<Rwkv6ChannelMix>(spec, loader, prefix, hidden, pool);
  }
  throw InternalError("mlp: unknown kind");
}

}  // namespace natsl::model_adapters::native::cuda
