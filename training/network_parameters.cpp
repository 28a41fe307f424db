// The initialisation rules by slot.
#include "training/network_parameters.h"

#include <cmath>
#include <numbers>
#include <string_view>

#include "model_adapters/native/torch_headers.h"
#include "model_adapters/spec/checkpoint.h"

namespace natsl::training {
namespace {

using model_adapters::ModelSpec;
using model_adapters::Rwkv6Spec;

// SplitMix64: numbers that depend on the seed, the slot and the index alone.
uint64_t Mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

class Draws {
 public:
  Draws(std::string_view slot, uint64_t seed) : state_(Mix(seed + 0x9E3779B97F4A7C15u)) {
    for (const char c : slot) state_ = Mix(state_ ^ (static_cast<unsigned char>(c) + 0x100u));
  }
  /// In (0, 1).
  double Uniform() {
    state_ += 0x9E3779B97F4A7C15u;
    return (static_cast<double>(Mix(state_) >> 11) + 0.5) * 0x1.0p-53;
  }
  double Normal() {
    return std::sqrt(-2 * std::log(Uniform())) * std::cos(2 * std::numbers::pi * Uniform());
  }

 private:
  uint64_t state_;
};

using Draw = std::function<double(Draws&)>;

Draw Constant(double value) {
  return [value](Draws&) { return value; };
}
Draw Normal(double deviation) {
  return [deviation](Draws& draws) { return deviation * draws.Normal(); };
}
Draw Symmetric(double bound) {
  return [bound](Draws& draws) { return bound * (2 * draws.Uniform() - 1); };
}

double LogOfUniform(Draws& draws) { return std::log(16 * draws.Uniform()); }

double InverseSoftplusOfStep(Draws& draws) {
  const double step = 1e-3 * std::pow(1e2, draws.Uniform());
  return step + std::log(-std::expm1(-step));
}

at::Tensor Fill(const std::vector<int64_t>& shape, Draws& draws, const Draw& draw) {
  at::Tensor tensor = at::empty(shape, at::kFloat);
  float* data = tensor.data_ptr<float>();
  for (int64_t i = 0; i < tensor.numel(); ++i) data[i] = static_cast<float>(draw(draws));
  return tensor;
}

// [rows, columns] with orthonormal columns (rows, where there are fewer), times `gain`.
at::Tensor Orthogonal(const std::vector<int64_t>& shape, Draws& draws, double gain) {
  const at::Tensor random = Fill(shape, draws, Normal(1)).to(at::kDouble);
  const bool wide = shape[0] < shape[1];
  const at::Tensor basis = std::get<0>(at::linalg_qr(wide ? random.t() : random));
  return ((wide ? basis.t() : basis) * gain).to(at::kFloat).contiguous();
}

class Rules {
 public:
  Rules(const ModelSpec& spec, double range) : spec_(spec), range_(range) {}

  at::Tensor Start(const std::string& slot, const std::vector<int64_t>& shape,
                   uint64_t seed) const {
    Draws draws(slot, seed);
    if (slot.ends_with("w_proj.linear.lora.2.weight")) {
      const double ratio = static_cast<double>(shape[1]) / static_cast<double>(shape[0]);
      return Orthogonal(shape, draws, 0.1 * (ratio > 1 ? std::sqrt(ratio) : 1));
    }
    return Fill(shape, draws, RuleOf(slot, shape));
  }

 private:
  static bool Has(std::string_view slot, std::string_view part) {
    return slot.find(part) != std::string_view::npos;
  }

  Draw RuleOf(std::string_view slot, const std::vector<int64_t>& shape) const {
    if (slot.ends_with("A_log")) return LogOfUniform;
    if (slot.ends_with("dt_bias")) return InverseSoftplusOfStep;
    if (slot.ends_with(".bias") || slot.ends_with(".mu") || slot.ends_with("x_bias") ||
        slot.ends_with("bonus") || slot == "lower_bounds" ||
        slot.ends_with("w_proj.linear.lora.0.weight")) {
      return Constant(0);
    }
    if (Has(slot, "norm") || slot.ends_with("mixer.D")) return Constant(1);
    const double fan_in = shape.size() > 1 ? static_cast<double>(shape[1]) : 1;
    if (spec_.family == "mamba2" && slot.ends_with("mixer.out_proj.weight")) {
      return Symmetric(1 / std::sqrt(fan_in * Layers()));
    }
    if (spec_.family == "rwkv6" && Has(slot, ".mixer.")) return Rwkv6Mixer(slot, shape);
    return Normal(range_);
  }

  // The time mix's matrices are Xavier-uniform with gain 2^-2.5; a softmax layer's output
  // projection is scaled down by the depth.
  Draw Rwkv6Mixer(std::string_view slot, const std::vector<int64_t>& shape) const {
    const double in = static_cast<double>(shape[1]), out = static_cast<double>(shape[0]);
    const size_t begin = std::string_view("layers.").size();
    const size_t layer = std::stoul(std::string(slot.substr(begin, slot.find('.', begin))));
    if (std::holds_alternative<Rwkv6Spec>(spec_.layers[layer].mixer)) {
      return Symmetric(std::exp2(-2.5) * std::sqrt(6 / (in + out)));
    }
    if (slot.ends_with("o_proj.weight")) return Symmetric(1 / std::sqrt(in * 2 * Layers()));
    return Normal(range_);
  }

  double Layers() const { return static_cast<double>(spec_.layers.size()); }

  const ModelSpec& spec_;
  double range_;
};

}  // namespace

TensorMap DrawParameters(const ModelSpec& spec, uint64_t seed, double range) {
  const Rules rules(spec, range);
  TensorMap parameters;
  for (const model_adapters::SlotSpec& slot : model_adapters::ExpectedSlots(spec)) {
    parameters.emplace(slot.slot, rules.Start(slot.slot, slot.shape, seed));
  }
  return parameters;
}

}  // namespace natsl::training
