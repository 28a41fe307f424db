// Constant tables.
#include <fmt/format.h>

#include <cmath>

#include "model_adapters/native/rope_frequencies.h"
#include "model_adapters/native/torch_headers.h"
#include "training/layers/pass.h"

namespace natsl::training {

Constants::RopeTables Constants::Rope(const model_adapters::RopeSpec& spec, int64_t tokens,
                                      at::ScalarType dtype) {
  const std::vector<float> frequencies = model_adapters::native::InverseFrequencies(spec);
  const float factor = model_adapters::native::AttentionFactor(spec);
  std::string key = fmt::format("{} {} {}", tokens, c10::toString(dtype), factor);
  for (const float frequency : frequencies) key += fmt::format(" {}", frequency);
  RopeTables& tables = rope_[key];
  if (!tables.cosines.defined()) {
    const auto half = static_cast<int64_t>(frequencies.size());
    at::Tensor cosines = at::empty({tokens, half}, at::kFloat);
    at::Tensor sines = at::empty({tokens, half}, at::kFloat);
    for (int64_t t = 0; t < tokens; ++t) {
      for (int64_t i = 0; i < half; ++i) {
        // The angle is rounded to float32, as in the reference.
        const float angle = static_cast<float>(t) * frequencies[static_cast<size_t>(i)];
        cosines.data_ptr<float>()[t * half + i] = std::cos(angle) * factor;
        sines.data_ptr<float>()[t * half + i] = std::sin(angle) * factor;
      }
    }
    tables = {cosines.to(device_, dtype), sines.to(device_, dtype)};
  }
  return tables;
}

at::Tensor Constants::RetentionDecay(int64_t heads) {
  at::Tensor& decay = retention_[heads];
  if (!decay.defined()) {
    at::Tensor values = at::empty({heads}, at::kFloat);
    for (int64_t n = 0; n < heads; ++n) {
      values.data_ptr<float>()[n] =
          static_cast<float>(std::log1p(-std::exp2(-5.0 - static_cast<double>(n))));
    }
    decay = values.to(device_);
  }
  return decay;
}

}  // namespace natsl::training
