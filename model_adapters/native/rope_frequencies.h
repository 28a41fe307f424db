// The rotary embedding's frequencies, scaled as a spec says.
#pragma once

#include <vector>

#include "model_adapters/spec/model_spec.h"

namespace natsl::model_adapters::native {

/// [dims / 2]
std::vector<float> InverseFrequencies(const RopeSpec& spec);
/// What cos and sin are multiplied by.
float AttentionFactor(const RopeSpec& spec);

}  // namespace natsl::model_adapters::native
