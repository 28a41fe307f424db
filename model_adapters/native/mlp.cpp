// The channel mixers.
#include "model_adapters/native/mlp.h"

#include "core/error.h"
#include "model_adapters/native/token_shift.h"

namespace natsl::model_adapters::native {
namespace {

class GatedMlp final : public Mlp {
 public:
  GatedMlp(const MlpSpec& spec, const WeightLoader& loader, const std::string& prefix)
      : activation_(spec.activation),
        gate_proj_(loader, prefix + "gate_proj"),
        up_proj_(loader, prefix + "up_proj"),
        down_proj_(loader, prefix + "down_proj") {}

  at::Tensor Forward(const at::Tensor& h, Batch&, int64_t) const override {
    at::Tensor gate = gate_proj_(h);
    ActivateAndMultiply(gate, up_proj_(h), activation_);
    return down_proj_(gate);
  }

 private:
  Activation activation_;
  Linear gate_proj_, up_proj_, down_proj_;
};

class PlainMlp final : public Mlp {
 public:
  PlainMlp(const MlpSpec& spec, const WeightLoader& loader, const std::string& prefix)
      : activation_(spec.activation),
        up_proj_(loader, prefix + "up_proj"),
        down_proj_(loader, prefix + "down_proj") {}

  at::Tensor Forward(const at::Tensor& h, Batch&, int64_t) const override {
    at::Tensor y = up_proj_(h);
    Activate(y, activation_);
    return down_proj_(y);
  }

 private:
  Activation activation_;
  Linear up_proj_, down_proj_;
};

at::Tensor& ChannelMixTail(LayerState& state) { return state.channel_mix_tail; }

class Rwkv6ChannelMix final : public Mlp {
 public:
  Rwkv6ChannelMix(const MlpSpec& spec, const WeightLoader& loader, const std::string& prefix)
      : activation_(spec.activation),
        key_mu_(loader.Small(prefix + "key.mu")),
        receptance_mu_(loader.Small(prefix + "receptance.mu")),
        key_(loader, prefix + "key.linear"),
        value_(loader, prefix + "value"),
        receptance_(loader, prefix + "receptance.linear") {}

  at::Tensor Forward(const at::Tensor& h, Batch& batch, int64_t layer) const override {
    const at::Tensor delta = ShiftDifference(h, batch, layer, &ChannelMixTail);
    at::Tensor key = key_(at::addcmul(h, delta, key_mu_));
    Activate(key, activation_);
    at::Tensor receptance = receptance_(at::addcmul(h, delta, receptance_mu_));
    return receptance.sigmoid_().mul_(value_(key));
  }

 private:
  Activation activation_;
  at::Tensor key_mu_, receptance_mu_;
  Linear key_, value_, receptance_;
};

}  // namespace

std::unique_ptr<Mlp> MakeMlp(const MlpSpec& spec, const WeightLoader& loader,
                             const std::string& prefix) {
  switch (spec.kind) {
    case MlpSpec::Kind::kNone:
      return nullptr;
    case MlpSpec::Kind::kGated:
      return std::make_unique<GatedMlp>(spec, loader, prefix);
    case MlpSpec::Kind::kPlain:
      return std::make_unique<PlainMlp>(spec, loader, prefix);
    case MlpSpec::Kind::kRwkv6ChannelMix:
      return std::make_unique<Rwkv6ChannelMix>(spec, loader, prefix);
  }
  throw InternalError("mlp: unknown kind");
}

}  // namespace natsl::model_adapters::native
