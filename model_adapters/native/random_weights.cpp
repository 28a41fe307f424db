// Weights drawn from a seed, for speed work on a config.json alone and for tests.
#include <cmath>
#include <map>
#include <string_view>

#include "core/error.h"
#include "core/threads.h"
#include "model_adapters/native/weights.h"

namespace natsl::model_adapters::native {
namespace {

// SplitMix64's finaliser: a counter-based generator, so that every element stands alone.
uint64_t Mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

uint64_t HashOf(std::string_view text, uint64_t seed) {
  uint64_t hash = seed ^ 0xCBF29CE484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return Mix(hash);
}

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}
bool EndsWith(std::string_view text, std::string_view end) { return text.ends_with(end); }

// How a slot's elements come from a uniform number in [0, 1).
struct Draw {
  enum class Kind { kUniform, kLogOfUniform, kInverseSoftplus } kind = Kind::kUniform;
  double low = 0, high = 1;
};

Draw DrawOf(std::string_view slot, const std::vector<int64_t>& shape, bool tied_head) {
  // exp(A_log) in [1, 16]; softplus(dt_bias) log-uniform in [0.001, 0.1] (Mamba2, Gated DeltaNet).
  if (EndsWith(slot, "A_log")) return {Draw::Kind::kLogOfUniform, 1, 16};
  if (EndsWith(slot, "dt_bias")) return {Draw::Kind::kInverseSoftplus, 1e-3, 1e-1};
  if (EndsWith(slot, ".mu")) return {Draw::Kind::kUniform, 0, 1};
  if (EndsWith(slot, "mixer.D")) return {Draw::Kind::kUniform, 0.5, 1.5};
  // RWKV6: log(-log decay) around -3, a decay of 0.95 a token.
  if (EndsWith(slot, "lora.2.bias")) return {Draw::Kind::kUniform, -5, -1};
  if (EndsWith(slot, ".bias")) return {Draw::Kind::kUniform, -0.1, 0.1};
  if (Contains(slot, "norm")) return {Draw::Kind::kUniform, 0.8, 1.2};
  if (EndsWith(slot, "bonus") || EndsWith(slot, "x_bias")) return {Draw::Kind::kUniform, -0.5, 0.5};
  int64_t fan_in = 1;
  for (size_t i = 1; i < shape.size(); ++i) fan_in *= shape[i];
  double bound = std::sqrt(3.0 / static_cast<double>(fan_in));
  // Unit variance; a table that is the head too is drawn as a head, so that logits stay near one.
  if (Contains(slot, "embeddings") && !tied_head) bound = std::sqrt(3.0);
  return {Draw::Kind::kUniform, -bound, bound};
}

class RandomWeights final : public WeightSource {
 public:
  RandomWeights(const ModelSpec& spec, uint64_t seed) : seed_(seed) {
    for (SlotSpec& slot : ExpectedSlots(spec)) shapes_.emplace(slot.slot, std::move(slot.shape));
    tied_head_ = spec.tied_head;
    one_plus_ = spec.final_norm.kind == NormKind::kRmsOnePlus;
  }

  bool Has(const std::string& slot) const override { return shapes_.count(slot) > 0; }

  at::Tensor Load(const std::string& slot) const override {
    const auto found = shapes_.find(slot);
    if (found == shapes_.end()) throw InternalError("random weights: no slot '{}'", slot);
    Draw draw = DrawOf(slot, found->second, tied_head_);
    if (one_plus_ && Contains(slot, "norm")) draw = {Draw::Kind::kUniform, -0.2, 0.2};
    at::Tensor tensor = at::empty(found->second, at::kFloat);
    float* data = tensor.data_ptr<float>();
    const uint64_t base = HashOf(slot, seed_);
    core::ParallelFor(tensor.numel(), 0,
                      [&](int64_t begin, int64_t end) { Fill(draw, base, data, begin, end); });
    return tensor;
  }

 private:
  static void Fill(const Draw& draw, uint64_t base, float* data, int64_t begin, int64_t end) {
    const double range = draw.high - draw.low;
    for (int64_t i = begin; i < end; ++i) {
      const uint64_t bits = Mix(base + 0x9E3779B97F4A7C15u * static_cast<uint64_t>(i + 1));
      const double u = static_cast<double>(bits >> 11) * 0x1.0p-53;
      double value = draw.low + range * u;
      if (draw.kind == Draw::Kind::kLogOfUniform) value = std::log(value);
      if (draw.kind == Draw::Kind::kInverseSoftplus) {
        const double dt = draw.low * std::pow(draw.high / draw.low, u);
        value = dt + std::log(-std::expm1(-dt));
      }
      data[i] = static_cast<float>(value);
    }
  }

  std::map<std::string, std::vector<int64_t>> shapes_;
  uint64_t seed_;
  bool one_plus_ = false, tied_head_ = false;
};

}  // namespace

std::unique_ptr<WeightSource> MakeRandomWeights(const ModelSpec& spec, uint64_t seed) {
  return std::make_unique<RandomWeights>(spec, seed);
}

}  // namespace natsl::model_adapters::native
