// One family of models: how its config becomes a ModelSpec, and how its tensors are named.
// Each family's file defines its functions; families.cpp lists them all.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model_adapters/spec/config_reader.h"
#include "model_adapters/spec/model_spec.h"

namespace natsl::model_adapters {

/// A tensor name starting with `from` is the slot starting with `to`; "{i}" stands for a layer's
/// index in both. The first rule that fits wins.
struct NameRule {
  std::string_view from;
  std::string_view to;
};

struct Family {
  std::string_view model_type;
  ModelSpec (*parse)(ConfigReader& config);
  /// Rules on names after the wrapper prefixes are gone (names.h).
  std::span<const NameRule> names;
};

std::span<const Family> Families();
/// Throws Error (model) that lists what is supported.
const Family& FindFamily(std::string_view model_type, std::string_view where);

// The tables of tensor names.
std::span<const NameRule> FlaNames();  ///< flash-linear-attention's but those below
std::span<const NameRule> GlaNames();  ///< and RetNet's
std::span<const NameRule> Rwkv6Names();
std::span<const NameRule> Mamba2Names();
std::span<const NameRule> HfDenseNames();  ///< llama, qwen3, mistral, smollm3
std::span<const NameRule> Gemma3Names();
std::span<const NameRule> GptNeoxNames();

ModelSpec ParseTransformer(ConfigReader& config);
ModelSpec ParseGatedDeltaNet(ConfigReader& config);
ModelSpec ParseNats(ConfigReader& config);
ModelSpec ParseDeltaNet(ConfigReader& config);
ModelSpec ParseGla(ConfigReader& config);
ModelSpec ParseRetNet(ConfigReader& config);
ModelSpec ParseHgrn(ConfigReader& config);
ModelSpec ParseHgrn2(ConfigReader& config);
ModelSpec ParseMamba2(ConfigReader& config);
ModelSpec ParseRwkv6(ConfigReader& config);
ModelSpec ParseLlama(ConfigReader& config);
ModelSpec ParseQwen3(ConfigReader& config);
ModelSpec ParseMistral(ConfigReader& config);
ModelSpec ParseSmolLm3(ConfigReader& config);
ModelSpec ParseGemma3Text(ConfigReader& config);
ModelSpec ParseGemma3(ConfigReader& config);
ModelSpec ParseGptNeox(ConfigReader& config);

}  // namespace natsl::model_adapters
