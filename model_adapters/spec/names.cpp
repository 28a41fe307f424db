// Tensor names.
#include "model_adapters/spec/names.h"

#include <charconv>

namespace natsl::model_adapters {
namespace {

/// The text model's names inside multimodal wrappers, newer and older.
constexpr NameRule kWrapperPrefixes[] = {
    {"model.language_model.", "model."},
    {"language_model.model.", "model."},
    {"language_model.lm_head.", "lm_head."},
};

constexpr std::string_view kIndex = "{i}";

/// A layer's index at the start of `text`: digits without leading zeros, below `layers`; they are
/// taken off.
std::optional<std::string_view> TakeIndex(std::string_view& text, int64_t layers) {
  int64_t index = -1;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), index);
  const std::string_view digits = text.substr(0, static_cast<size_t>(end - text.data()));
  if (failure != std::errc() || index < 0 || index >= layers || digits.front() == '-' ||
      (digits.size() > 1 && digits.front() == '0')) {
    return std::nullopt;
  }
  text.remove_prefix(digits.size());
  return digits;
}

std::optional<std::string> Apply(const NameRule& rule, std::string_view name, int64_t layers) {
  const size_t place = rule.from.find(kIndex);
  if (place == std::string_view::npos) {
    if (!name.starts_with(rule.from)) return std::nullopt;
    return std::string(rule.to) + std::string(name.substr(rule.from.size()));
  }
  if (!name.starts_with(rule.from.substr(0, place))) return std::nullopt;
  name.remove_prefix(place);
  const std::optional<std::string_view> index = TakeIndex(name, layers);
  const std::string_view rest = rule.from.substr(place + kIndex.size());
  if (!index || !name.starts_with(rest)) return std::nullopt;
  name.remove_prefix(rest.size());
  std::string slot(rule.to);
  slot.replace(slot.find(kIndex), kIndex.size(), *index);
  return slot + std::string(name);
}

}  // namespace

bool IsIgnorableTensor(std::string_view name) {
  for (const std::string_view prefix :
       {"model.visual.", "visual.", "model.vision_tower.", "vision_tower.",
        "model.multi_modal_projector.", "multi_modal_projector.", "mtp."}) {
    if (name.starts_with(prefix)) return true;
  }
  for (const std::string_view suffix :
       {".rotary_emb.inv_freq", ".attention.bias", ".attention.masked_bias"}) {
    if (name.ends_with(suffix)) return true;
  }
  return false;
}

std::optional<std::string> SlotOfTensor(std::string_view name, std::span<const NameRule> rules,
                                        int64_t layers) {
  std::string inner(name);
  for (const NameRule& prefix : kWrapperPrefixes) {
    if (!name.starts_with(prefix.from)) continue;
    inner = std::string(prefix.to) + std::string(name.substr(prefix.from.size()));
    break;
  }
  for (const NameRule& rule : rules) {
    if (std::optional<std::string> slot = Apply(rule, inner, layers)) return slot;
  }
  return std::nullopt;
}

std::optional<std::string> TensorOfSlot(std::string_view slot, std::span<const NameRule> rules,
                                        int64_t layers) {
  for (const NameRule& rule : rules) {
    if (std::optional<std::string> name = Apply({rule.to, rule.from}, slot, layers)) return name;
  }
  return std::nullopt;
}

}  // namespace natsl::model_adapters
