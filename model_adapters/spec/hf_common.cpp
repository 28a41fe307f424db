// Shared parts of the transformers families.
#include "model_adapters/spec/hf_common.h"

#include <cmath>

#include "core/json.h"
#include "model_adapters/spec/fla_common.h"

namespace natsl::model_adapters {
namespace {

/// A field of the scaling object that must be there.
double Needed(ConfigReader& scaling, std::string_view key, double low, double high) {
  scaling.Raw(key);
  return scaling.Double(key, 0, low, high);
}

void Yarn(ConfigReader& scaling, std::optional<int64_t> max_positions, RopeSpec& rope) {
  rope.factor = Needed(scaling, "factor", 1e-6, 1e9);
  const auto original = scaling.OptionalInt("original_max_position_embeddings", max_positions);
  if (!original) {
    throw ModelError("{}: yarn needs \"original_max_position_embeddings\"", scaling.where());
  }
  rope.original_max_positions = static_cast<double>(*original);
  rope.beta_fast = scaling.OptionalDouble("beta_fast", 32, 1e-6, 1e9).value_or(32);
  rope.beta_slow = scaling.OptionalDouble("beta_slow", 1, 1e-6, 1e9).value_or(1);
  rope.truncate = scaling.Bool("truncate", true);
  const auto mscale = scaling.OptionalDouble("mscale", std::nullopt, 0, 1e6);
  const auto mscale_all = scaling.OptionalDouble("mscale_all_dim", std::nullopt, 0, 1e6);
  const auto magnitude = [&](double scale) {
    return rope.factor <= 1 ? 1.0 : 0.1 * scale * std::log(rope.factor) + 1.0;
  };
  // Python's `if mscale and mscale_all_dim`: zero counts as absent.
  const bool ratio = mscale.value_or(0) != 0 && mscale_all.value_or(0) != 0;
  rope.attention_factor = ratio ? magnitude(*mscale) / magnitude(*mscale_all) : magnitude(1);
  const auto given = scaling.OptionalDouble("attention_factor", std::nullopt, 1e-6, 1e6);
  if (given) rope.attention_factor = *given;
}

}  // namespace

const core::Json* RopeField(ConfigReader& config) {
  config.Inert({"rope_parameters", "rope_scaling"});
  for (const std::string_view key : {"rope_parameters", "rope_scaling"}) {
    if (config.HasValue(key)) return &config.Raw(key);
  }
  return nullptr;
}

RopeSpec HfRope(ConfigReader& config, const core::Json* scaling_field, int64_t head_dim,
                const RopeDefaults& defaults, std::optional<int64_t> max_positions) {
  double base =
      config.OptionalDouble(defaults.base_key, defaults.base, 1, 1e15).value_or(defaults.base);
  double partial = config.OptionalDouble(defaults.partial_key, defaults.partial, 0, 1)
                       .value_or(defaults.partial);
  RopeSpec rope;
  if (scaling_field != nullptr) {
    ConfigReader scaling(*scaling_field, config.where() + ": rope scaling");
    base = scaling.OptionalDouble("rope_theta", base, 1, 1e15).value_or(base);
    partial = scaling.OptionalDouble("partial_rotary_factor", partial, 0, 1).value_or(partial);
    const std::string_view key = scaling.HasValue("rope_type") ? "rope_type" : "type";
    rope.scaling = scaling.Choose<RopeSpec::Scaling>(key, "default",
                                                     {{"default", RopeSpec::Scaling::kNone},
                                                      {"linear", RopeSpec::Scaling::kLinear},
                                                      {"llama3", RopeSpec::Scaling::kLlama3},
                                                      {"yarn", RopeSpec::Scaling::kYarn}});
    if (rope.scaling == RopeSpec::Scaling::kLinear) {
      rope.factor = Needed(scaling, "factor", 1e-6, 1e9);
    } else if (rope.scaling == RopeSpec::Scaling::kLlama3) {
      rope.factor = Needed(scaling, "factor", 1e-6, 1e9);
      rope.low_freq_factor = Needed(scaling, "low_freq_factor", 1e-6, 1e9);
      rope.high_freq_factor = Needed(scaling, "high_freq_factor", 1e-6, 1e9);
      rope.original_max_positions = Needed(scaling, "original_max_position_embeddings", 1, 1e12);
      if (rope.high_freq_factor <= rope.low_freq_factor) {
        throw scaling.Wrong("high_freq_factor", "more than low_freq_factor");
      }
    } else if (rope.scaling == RopeSpec::Scaling::kYarn) {
      Yarn(scaling, max_positions, rope);
    }
  }
  const auto dims = static_cast<int64_t>(static_cast<double>(head_dim) * partial);
  if (dims < 2) {
    throw ModelError("{}: {} times head_dim {} leaves no channels to rotate", config.where(),
                     partial, head_dim);
  }
  rope.base = base;
  rope.dims = PlainRope(config, base, dims).dims;
  return rope;
}

Activation HfActivation(ConfigReader& config, std::string_view key, std::string_view absent) {
  return config.Choose<Activation>(key, absent,
                                   {{"silu", Activation::kSilu},
                                    {"swish", Activation::kSilu},
                                    {"gelu", Activation::kGeluErf},
                                    {"gelu_new", Activation::kGeluTanh},
                                    {"gelu_fast", Activation::kGeluTanh},
                                    {"gelu_pytorch_tanh", Activation::kGeluTanh},
                                    {"relu", Activation::kRelu}});
}

std::optional<std::vector<bool>> SlidingLayers(ConfigReader& config, size_t layers) {
  config.Inert({"layer_types"});
  if (!config.HasValue("layer_types")) return std::nullopt;
  std::vector<bool> sliding;
  for (const std::string& kind : config.Texts("layer_types")) {
    if (kind != "full_attention" && kind != "attention" && kind != "sliding_attention") {
      throw config.Wrong("layer_types", "full_attention and sliding_attention only");
    }
    sliding.push_back(kind == "sliding_attention");
  }
  if (sliding.size() != layers) {
    throw config.Wrong("layer_types", fmt::format("one kind for each of {} layers", layers));
  }
  return sliding;
}

AttentionSpec HfAttention(ConfigReader& config, int64_t hidden, const HfAttentionDefaults& defaults,
                          bool has_bias) {
  AttentionSpec mixer;
  mixer.heads = config.Int("num_attention_heads", defaults.heads);
  mixer.kv_heads =
      config.OptionalInt("num_key_value_heads", defaults.kv_heads).value_or(mixer.heads);
  CheckedQuotient(config, "num_attention_heads", mixer.heads, "num_key_value_heads",
                  mixer.kv_heads);
  const std::optional<int64_t> head_dim = config.OptionalInt("head_dim", defaults.head_dim);
  mixer.head_dim =
      head_dim ? *head_dim
               : CheckedQuotient(config, "hidden_size", hidden, "num_attention_heads", mixer.heads);
  const int64_t width =
      CheckedProduct(config, "num_attention_heads times head_dim", mixer.heads, mixer.head_dim);
  CheckedProduct(config, "an attention weight", width, hidden);
  mixer.scale = InverseRoot(mixer.head_dim);
  if (has_bias) mixer.qkv_bias = mixer.o_bias = config.Bool("attention_bias", false);
  config.Inert({"attention_dropout"});
  return mixer;
}

}  // namespace natsl::model_adapters
