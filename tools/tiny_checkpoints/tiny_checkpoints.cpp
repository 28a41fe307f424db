// The models: their configs and random weights.
#include "tools/tiny_checkpoints/tiny_checkpoints.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "model_adapters/safetensors/writer.h"
#include "model_adapters/spec/checkpoint.h"
#include "tools/tiny_checkpoints/tiny_tokenizer.h"

namespace natsl::tools {
namespace {

using core::Json;

/// SplitMix64: whole-number arithmetic only, so the same everywhere.
class Generator {
 public:
  explicit Generator(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    uint64_t z = state_ += 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }
  /// [0, 1), exact.
  double Uniform() { return static_cast<double>(Next() >> 11) * 0x1p-53; }
  /// Mean 0, variance 1: twelve uniforms summed. No logarithm or cosine, whose last bits differ
  /// between C libraries.
  double Normal() {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += Uniform();
    return sum;
  }

 private:
  uint64_t state_;
};

/// bfloat16 bits, rounded to nearest, ties to even. Values are finite.
uint16_t ToBFloat16(double value) {
  const auto bits = std::bit_cast<uint32_t>(static_cast<float>(value));
  return static_cast<uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

/// One element of a weight. Scales keep activations and logits near unit variance; decays cover
/// slow and fast heads.
double Draw(Generator& random, std::string_view name, const std::vector<int64_t>& shape) {
  if (name.ends_with(".A_log")) return 2.5 * random.Uniform();
  if (name.ends_with(".dt_bias")) return -6 + 4 * random.Uniform();
  if (name.find("norm") != std::string_view::npos) return 1 + 0.1 * random.Normal();
  if (name.ends_with("embeddings.weight")) return random.Normal();
  double inputs = 1;  // of one output: all but the first size
  for (size_t i = 1; i < shape.size(); ++i) inputs *= static_cast<double>(shape[i]);
  return random.Normal() / std::sqrt(inputs);  // sqrt is exact by IEEE 754
}

std::string Weights(const std::string& config, uint64_t seed) {
  using model_adapters::ExpectedSlots;
  const auto spec = model_adapters::ParseModelSpec(config, "tiny checkpoint");
  model_adapters::SafetensorsWriter writer;
  writer.SetMetadata("format", "pt");
  Generator random(seed);
  for (const model_adapters::SlotSpec& slot : ExpectedSlots(spec)) {
    const std::string name = model_adapters::TensorName(spec, slot.slot);
    int64_t count = 1;
    for (const int64_t size : slot.shape) count *= size;
    std::vector<uint16_t> values;
    for (int64_t i = 0; i < count; ++i) {
      values.push_back(ToBFloat16(Draw(random, name, slot.shape)));
    }
    writer.Add(name, core::DType::kBFloat16, slot.shape, std::as_bytes(std::span(values)));
  }
  return writer.Bytes();
}

/// Fields of all three.
Json CommonConfig(const char* model_type, const char* architecture) {
  return Json{{"architectures", Json::array({architecture})},
              {"model_type", model_type},
              {"torch_dtype", "bfloat16"},
              {"vocab_size", kTinyVocabulary},
              {"hidden_size", 64},
              {"intermediate_size", 128},
              {"num_hidden_layers", 4},
              {"hidden_act", "swish"},
              {"norm_eps", 1e-6},
              {"max_position_embeddings", 2048},
              {"bos_token_id", kTinyBos},
              {"eos_token_id", kTinyEos},
              {"pad_token_id", nullptr},
              {"tie_word_embeddings", false},
              {"initializer_range", 0.02},
              {"use_cache", true}};
}

Json TransformerConfig() {
  Json config = CommonConfig("transformer", "TransformerForCausalLM");
  config.update(Json{{"num_heads", 4},
                     {"num_kv_heads", 2},
                     {"qkv_bias", false},
                     {"qk_norm", false},
                     {"window_size", nullptr},
                     {"rope_theta", 10000.0}});
  return config;
}

/// Gated DeltaNet's fields, which NAtS-L shares.
Json DeltaFields() {
  return Json{{"attn_mode", "chunk"},   {"num_heads", 2},  {"head_dim", 32},
              {"num_v_heads", nullptr}, {"expand_v", 2.0}, {"use_gate", true},
              {"use_short_conv", true}, {"conv_size", 4},  {"allow_neg_eigval", false}};
}

Json GatedDeltaNetConfig() {
  Json config = CommonConfig("gated_deltanet", "GatedDeltaNetForCausalLM");
  config.update(DeltaFields());
  config["attn"] =
      Json{{"layers", Json::array({3})}, {"num_heads", 4},         {"num_kv_heads", 2},
           {"qkv_bias", false},          {"window_size", nullptr}, {"rope_theta", 10000.0}};
  return config;
}

Json NatsConfig() {
  Json config = CommonConfig("neural_attention_search_linear_attn_gdn",
                             "NeuralAttentionSearchLinearAttnGDNForCausalLM");
  config.update(DeltaFields());
  config.update(Json{{"conv_bias", false},
                     {"num_attn_heads", 4},
                     {"num_nats_head", nullptr},
                     {"n_ops", 2},
                     {"nats_block_size", 64},
                     {"nats_block_agg_type", "mean"},
                     {"nats_sample_strategy", "argmax"},
                     {"ops_for_incomplete_chunks", "all"},
                     {"incomplete_block_start_with_ht", true},
                     {"decay_for_non_gdn_blocks", true},
                     {"attn_qk_norm", true},
                     {"attn_with_short_conv", true},
                     {"attn_apply_pos_encoding", false},
                     {"gdn_layers", Json::array({0, 2})},
                     {"attn", nullptr}});
  return config;
}

}  // namespace

std::map<std::string, std::string> TinyCheckpointFiles() {
  struct Model {
    const char* name;
    Json config;
    uint64_t seed;
  };
  const Model models[] = {{"tiny-transformer", TransformerConfig(), 1},
                          {"tiny-gdn-hybrid", GatedDeltaNetConfig(), 2},
                          {"tiny-natsl-hybrid", NatsConfig(), 3}};
  const std::string tokenizer = TinyTokenizerJson();
  std::map<std::string, std::string> files;
  for (const Model& model : models) {
    const std::string folder = std::string(model.name) + "/";
    const std::string config = core::PythonJson(model.config, 2) + "\n";
    files[folder + "config.json"] = config;
    files[folder + "model.safetensors"] = Weights(config, model.seed);
    files[folder + "tokenizer.json"] = tokenizer;
    files[folder + "tokenizer_config.json"] = TinyTokenizerConfigJson();
  }
  return files;
}

}  // namespace natsl::tools
