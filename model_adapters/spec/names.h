// From a checkpoint's tensor names to slots.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "model_adapters/spec/family.h"

namespace natsl::model_adapters {

/// Tensors that hold no weight of the language model: vision parts, multi-token heads, buffers.
bool IsIgnorableTensor(std::string_view name);

/// The slot of a tensor, wrapper prefixes taken off first; nothing where no rule fits or the layer
/// isn't below `layers`.
std::optional<std::string> SlotOfTensor(std::string_view name, std::span<const NameRule> rules,
                                        int64_t layers);

/// The inverse: the tensor name of a slot by the first rule that gives it; nothing where none does.
std::optional<std::string> TensorOfSlot(std::string_view slot, std::span<const NameRule> rules,
                                        int64_t layers);

}  // namespace natsl::model_adapters
