// Frequencies by scaling: none, linear, llama3, yarn.
#include "model_adapters/native/rope_frequencies.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace natsl::model_adapters::native {

std::vector<float> InverseFrequencies(const RopeSpec& spec) {
  std::vector<float> inverse_frequencies;
  const int64_t half = spec.dims / 2;
  const double dims = static_cast<double>(spec.dims);
  const auto base_frequency = [&](int64_t i) {
    return std::pow(spec.base, -2.0 * static_cast<double>(i) / dims);
  };
  // yarn: channels below `low` keep their frequency, those above `high` are interpolated.
  double low = 0, high = 0;
  if (spec.scaling == RopeSpec::Scaling::kYarn) {
    const auto channel = [&](double beta) {
      return dims * std::log(spec.original_max_positions / (2 * std::numbers::pi * beta)) /
             (2 * std::log(spec.base));
    };
    low = channel(spec.beta_fast);
    high = channel(spec.beta_slow);
    if (spec.truncate) {
      low = std::floor(low);
      high = std::ceil(high);
    }
    low = std::clamp(low, 0.0, dims - 1);
    high = std::clamp(high, 0.0, dims - 1);
    if (low == high) high += 0.001;
  }
  for (int64_t i = 0; i < half; ++i) {
    double inverse = base_frequency(i);
    switch (spec.scaling) {
      case RopeSpec::Scaling::kNone:
        break;
      case RopeSpec::Scaling::kLinear:
        inverse /= spec.factor;
        break;
      case RopeSpec::Scaling::kLlama3: {
        const double wavelength = 2 * std::numbers::pi / inverse;
        const double original = spec.original_max_positions;
        if (wavelength > original / spec.low_freq_factor) {
          inverse /= spec.factor;
        } else if (wavelength >= original / spec.high_freq_factor) {
          const double t = (original / wavelength - spec.low_freq_factor) /
                           (spec.high_freq_factor - spec.low_freq_factor);
          inverse = (1 - t) * inverse / spec.factor + t * inverse;
        }
        break;
      }
      case RopeSpec::Scaling::kYarn: {
        const double ramp = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
        inverse = inverse * (1 - ramp) + inverse / spec.factor * ramp;
        break;
      }
    }
    inverse_frequencies.push_back(static_cast<float>(inverse));
  }
  return inverse_frequencies;
}

float AttentionFactor(const RopeSpec& spec) {
  return spec.scaling == RopeSpec::Scaling::kYarn ? static_cast<float>(spec.attention_factor) : 1;
}

}  // namespace natsl::model_adapters::native
