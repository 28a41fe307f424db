// States lengthened without computing them, for measuring at a depth.
#pragma once

#include "model_adapters/native/state.h"
#include "model_adapters/spec/model_spec.h"

namespace natsl::model_adapters::native {

/// Lengthens the state to `length` tokens: pages of keys and values are copies of those it has (for
/// NAtS-L as many as its share of softmax chunks so far gives), recurrent states stay as they are.
/// False, and nothing changed, where the state holds no whole page yet or `length` isn't a multiple
/// of 64 tokens further on.
bool GrowState(const ModelSpec& spec, int64_t length, SequenceState& state);

}  // namespace natsl::model_adapters::native
