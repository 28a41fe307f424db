// The table of families.
#include <algorithm>

#include "model_adapters/spec/checkpoint.h"
#include "model_adapters/spec/family.h"

namespace natsl::model_adapters {

std::span<const Family> Families() {
  static const Family kFamilies[] = {
      {"delta_net", ParseDeltaNet, FlaNames()},
      {"gated_deltanet", ParseGatedDeltaNet, FlaNames()},
      {"gemma3", ParseGemma3, Gemma3Names()},
      {"gemma3_text", ParseGemma3Text, Gemma3Names()},
      {"gla", ParseGla, GlaNames()},
      {"gpt_neox", ParseGptNeox, GptNeoxNames()},
      {"hgrn", ParseHgrn, FlaNames()},
      {"hgrn2", ParseHgrn2, FlaNames()},
      {"llama", ParseLlama, HfDenseNames()},
      {"mamba2", ParseMamba2, Mamba2Names()},
      {"mistral", ParseMistral, HfDenseNames()},
      {"neural_attention_search_linear_attn_gdn", ParseNats, FlaNames()},
      {"qwen3", ParseQwen3, HfDenseNames()},
      {"retnet", ParseRetNet, GlaNames()},
      {"rwkv6", ParseRwkv6, Rwkv6Names()},
      {"smollm3", ParseSmolLm3, HfDenseNames()},
      {"transformer", ParseTransformer, FlaNames()},
  };
  return kFamilies;
}

std::vector<std::string> SupportedModelTypes() {
  std::vector<std::string> names;
  for (const Family& family : Families()) names.emplace_back(family.model_type);
  std::ranges::sort(names);
  return names;
}

const Family& FindFamily(std::string_view model_type, std::string_view where) {
  for (const Family& family : Families()) {
    if (family.model_type == model_type) return family;
  }
  throw ModelError("{}: \"model_type\" is \"{}\", which is not supported; supported: {}", where,
                   model_type.substr(0, 100), fmt::join(SupportedModelTypes(), ", "));
}

}  // namespace natsl::model_adapters
