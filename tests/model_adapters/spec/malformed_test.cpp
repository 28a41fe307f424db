// Malformed and unsupported configs: each is one Error that names the field.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "core/json.h"
#include "model_adapters/spec/checkpoint.h"
#include "tests/model_adapters/spec/configs.h"

namespace natsl::model_adapters {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

/// The error's text; "" where the config is accepted.
std::string SpecError(const std::string& text) {
  try {
    ParseModelSpec(text, "config.json");
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kModel);
    return error.what();
  }
}

/// A family's small config with some fields replaced.
std::string With(const std::string& family, const std::string& fields) {
  core::Json config = core::ParseJson(SmallConfigs().at(family), "small", ErrorCode::kInternal,
                                      {.python_numbers = true});
  config.update(core::ParseJson(fields, "change", ErrorCode::kInternal, {.python_numbers = true}));
  return core::PythonJson(config);
}

TEST(MalformedConfigs, TextsThatAreNoConfig) {
  const struct {
    const char* text;
    const char* expected;
  } bad[] = {
      {"", "not valid JSON"},
      {"{", "not valid JSON"},
      {"{\"model_type\":\"llama\"", "not valid JSON"},
      {"{\"model_type\":\"llama\",}", "not valid JSON"},
      {"{\"model_type\":\"llama\"} x", "not valid JSON"},
      {"\xff", "not valid UTF-8"},
      {"{\"model_type\":\"\xc3\"}", "not valid UTF-8"},
      {"[]", "expected an object"},
      {"null", "expected an object"},
      {"3", "expected an object"},
      {"\"llama\"", "expected an object"},
      {"{}", "\"model_type\" is missing, expected one of delta_net, gated_deltanet"},
      {"{\"model_type\":null}", "\"model_type\" is missing"},
      {"{\"model_type\":3}", "expected a text"},
      {"{\"model_type\":[\"llama\"]}", "expected a text"},
      {"{\"model_type\":\"Llama\"}", "\"Llama\", which is not supported; supported: delta_net"},
      {"{\"model_type\":\"\"}", "not supported"},
      {"{\"model_type\":\"qwen3_next\"}", "smollm3, transformer"},
      {"{\"model_type\":\"llama\",\"model_type\":\"gla\"}", "given twice"},
      {"{\"model_type\":\"gemma3\"}", "\"text_config\" is missing"},
      {"{\"model_type\":\"gemma3\",\"text_config\":3}", "expected an object"},
  };
  for (const auto& [text, expected] : bad) {
    SCOPED_TRACE(text);
    EXPECT_THAT(SpecError(text), StartsWith("config.json"));
    EXPECT_THAT(SpecError(text), HasSubstr(expected));
  }
  EXPECT_THAT(SpecError("{\"a\":" + std::string(1'000'000, '[')),
              HasSubstr("nested deeper than 32"));
}

struct BadField {
  const char* family;
  const char* fields;
  const char* expected;
};
const BadField kBadFields[] = {
    // Sizes.
    {"llama", R"({"hidden_size":0})", "\"hidden_size\" is 0"},
    {"llama", R"({"hidden_size":-16})", "expected a whole number from 1"},
    {"llama", R"({"hidden_size":1.5})", "\"hidden_size\" is 1.5"},
    {"llama", R"({"hidden_size":1e300})", "\"hidden_size\" is 1e+300"},
    {"llama", R"({"hidden_size":NaN})", "\"hidden_size\""},
    {"llama", R"({"hidden_size":Infinity})", "\"hidden_size\""},
    {"llama", R"({"hidden_size":18446744073709551615})", "\"hidden_size\""},
    {"llama", R"({"hidden_size":null})", "\"hidden_size\" is null"},
    {"llama", R"({"vocab_size":1099511627776})", "\"vocab_size\""},
    {"llama", R"({"vocab_size":2147483648,"hidden_size":1024})", "expected at most 2^40"},
    {"llama", R"({"intermediate_size":2147483648,"hidden_size":4096})", "expected at most 2^40"},
    {"llama", R"({"num_hidden_layers":0})", "\"num_hidden_layers\""},
    {"llama", R"({"num_hidden_layers":4097})", "from 1 to 4096"},
    {"llama", R"({"num_hidden_layers":1000000000})", "\"num_hidden_layers\""},
    {"llama", R"({"num_attention_heads":0})", "\"num_attention_heads\""},
    {"llama", R"({"num_attention_heads":3,"head_dim":null})", "num_key_value_heads"},
    {"llama", R"({"num_attention_heads":6,"num_key_value_heads":6,"head_dim":null})",
     "hidden_size is 16, expected a multiple of num_attention_heads (6)"},
    {"llama", R"({"num_key_value_heads":3})",
     "num_attention_heads is 4, expected a multiple of num_key_value_heads (3)"},
    {"llama", R"({"num_key_value_heads":8})", "num_key_value_heads (8)"},
    {"llama", R"({"head_dim":7})", "expected an even number"},
    {"llama", R"({"head_dim":2147483648,"num_attention_heads":2048})", "expected at most 2^40"},
    {"llama", R"({"rms_norm_eps":-1e-5})", "\"rms_norm_eps\""},
    {"llama", R"({"rms_norm_eps":NaN})", "\"rms_norm_eps\""},
    {"llama", R"({"rms_norm_eps":"1e-5"})", "\"rms_norm_eps\" is \"1e-5\" (string)"},
    {"llama", R"({"quantization_config":{"quant_method":"gptq"}})", "\"quantization_config\" is"},
    {"llama", R"({"hidden_act":"powlu"})", "\"powlu\" (string), which is not supported"},
    {"llama", R"({"attention_bias":1})", "expected true or false"},
    {"llama", R"({"tie_word_embeddings":"true"})", "expected true or false"},
    {"llama", R"({"max_position_embeddings":0})", "\"max_position_embeddings\""},
    {"llama", R"({"eos_token_id":-1})", "\"eos_token_id\""},
    {"llama", R"({"eos_token_id":"</s>"})", "\"eos_token_id\""},
    {"llama", R"({"eos_token_id":[1,"x"]})", "\"eos_token_id\""},
    // Rotary embeddings.
    {"llama", R"({"rope_theta":0})", "\"rope_theta\""},
    {"llama", R"({"rope_theta":-1})", "\"rope_theta\""},
    {"llama", R"({"rope_scaling":[]})", "expected an object"},
    {"llama", R"({"rope_scaling":"linear"})", "expected an object"},
    {"llama", R"({"rope_scaling":{"rope_type":"dynamic","factor":2}})",
     "\"rope_type\" is \"dynamic\" (string), which is not supported; supported: default, linear"},
    {"llama", R"({"rope_scaling":{"type":"longrope"}})", "\"type\" is \"longrope\""},
    {"llama", R"({"rope_scaling":{"type":3}})", "\"type\" is 3"},
    {"llama", R"({"rope_scaling":{"type":"linear"}})", "\"factor\" is missing"},
    {"llama", R"({"rope_scaling":{"type":"linear","factor":0}})", "\"factor\" is 0"},
    {"llama", R"({"rope_scaling":{"type":"linear","factor":null}})", "\"factor\" is null"},
    {"llama", R"({"rope_scaling":{"type":"yarn"}})", "\"factor\" is missing"},
    {"llama", R"({"rope_scaling":{"type":"llama3","factor":8}})", "\"low_freq_factor\" is missing"},
    {"llama", R"({"rope_scaling":{"type":"llama3","factor":8,"low_freq_factor":4,
      "high_freq_factor":4,"original_max_position_embeddings":8}})",
     "more than low_freq_factor"},
    {"llama", R"({"rope_parameters":{"rope_type":"su"}})", "\"su\""},
    {"llama", R"({"rope_parameters":{"rope_theta":"1"}})", "\"rope_theta\""},
    {"llama", R"({"partial_rotary_factor":0.1})", "leaves no channels to rotate"},
    {"llama", R"({"partial_rotary_factor":2})", "\"partial_rotary_factor\""},
    {"gpt_neox", R"({"rotary_pct":1.5})", "\"rotary_pct\""},
    {"gpt_neox", R"({"rotary_pct":0.4})", "expected an even number"},
    {"gpt_neox", R"({"num_attention_heads":3})", "multiple of num_attention_heads (3)"},
    {"gpt_neox", R"({"hidden_act":"tanh"})", "which is not supported; supported: silu"},
    // Layer kinds.
    {"qwen3", R"({"layer_types":["full_attention"]})", "one kind for each of 3 layers"},
    {"qwen3", R"({"layer_types":["full_attention","full_attention","mamba"]})", "\"layer_types\""},
    {"qwen3", R"({"layer_types":3})", "expected a list of texts"},
    {"qwen3", R"({"sliding_window":0})", "\"sliding_window\""},
    {"qwen3", R"({"max_window_layers":-1})", "\"max_window_layers\""},
    {"mistral", R"({"sliding_window":-1})", "\"sliding_window\""},
    {"smollm3", R"({"no_rope_layers":[1,1,0]})", "4 numbers, one a layer"},
    {"smollm3", R"({"no_rope_layers":[1,1,0,2]})", "from 0 to 1"},
    {"smollm3", R"({"no_rope_layer_interval":0})", "\"no_rope_layer_interval\""},
    {"gemma3_text", R"({"use_bidirectional_attention":true})",
     "\"use_bidirectional_attention\" is true (boolean), which is not supported; supported: false"},
    {"gemma3_text", R"({"query_pre_attn_scalar":0})", "\"query_pre_attn_scalar\""},
    {"gemma3_text", R"({"sliding_window_pattern":0})", "\"sliding_window_pattern\""},
    {"gemma3_text", R"({"final_logit_softcapping":-1})", "\"final_logit_softcapping\""},
    {"gemma3_text", R"({"rope_parameters":{"rope_type":"default"}})",
     "expected full_attention and sliding_attention"},
    {"gemma3", R"({"text_config":{"hidden_size":-1}})", "\"text_config\": \"hidden_size\""},
    // flash-linear-attention.
    {"transformer", R"({"attnres_block_size":4})", "attention residuals"},
    {"transformer", R"({"hidden_act":"powlu"})", "supported: swish"},
    {"transformer", R"({"num_heads":3})", "multiple of num_heads (3)"},
    {"transformer", R"({"num_kv_heads":3})", "multiple of num_kv_heads (3)"},
    {"transformer", R"({"window_size":0})", "\"window_size\""},
    {"transformer", R"({"hidden_ratio":0})", "\"hidden_ratio\""},
    {"transformer", R"({"hidden_ratio":Infinity})", "\"hidden_ratio\""},
    {"transformer", R"({"qkv_bias":null})", "\"qkv_bias\" is null"},
    {"gated_deltanet", R"({"num_v_heads":3})",
     "num_v_heads is 3, expected a multiple of num_heads"},
    {"gated_deltanet", R"({"expand_v":0})", "\"expand_v\""},
    {"gated_deltanet", R"({"expand_v":0.001})", "head_dim times expand_v is 4 times 0.001"},
    {"gated_deltanet",
     R"({"expand_v":1,"head_dim":2147483648,"num_heads":1024,"num_v_heads":1024})",
     "expected at most 2^40"},
    {"gated_deltanet", R"({"head_dim":1048576,"num_heads":1048576,"num_v_heads":1048576})",
     "expected at most 2^40"},
    {"gated_deltanet",
     R"({"expand_v":1,"head_dim":2147483648,"hidden_size":2147483648,"vocab_size":1,
      "intermediate_size":1,"attn":null})",
     "layers.0.mixer.q_proj.weight [4294967296, 2147483648] is larger than 2^40 elements"},
    {"gated_deltanet", R"({"head_dim":8388608})",
     "the state of layer 0 is larger than 2^40 elements"},
    {"gated_deltanet", R"({"conv_size":0})", "\"conv_size\""},
    {"gated_deltanet", R"({"conv_size":257})", "from 1 to 256"},
    {"gated_deltanet", R"({"attn":3})", "\"attn\": 3 (number), expected an object"},
    {"gated_deltanet", R"({"attn":{"num_heads":4}})", "\"layers\" is missing"},
    {"gated_deltanet", R"({"attn":{"layers":[0]}})", "\"num_heads\" is missing"},
    {"gated_deltanet", R"({"attn":{"layers":[3],"num_heads":4}})", "from 0 to 2"},
    {"gated_deltanet", R"({"attn":{"layers":[-1],"num_heads":4}})", "from 0 to 2"},
    {"gated_deltanet", R"({"attn":{"layers":[1,1],"num_heads":4}})", "layer 1 is listed twice"},
    {"gated_deltanet", R"({"attn":{"layers":1,"num_heads":4}})", "expected a list"},
    {"gated_deltanet", R"({"attn":{"layers":["1"],"num_heads":4}})", "expected a list"},
    {"gated_deltanet", R"({"attn":{"layers":[1],"num_heads":5}})", "multiple of num_heads (5)"},
    {"gated_deltanet", R"({"attn":{"layers":[1],"num_heads":4,"num_kv_heads":3}})", "(3)"},
    {"gated_deltanet", R"({"attn":{"layers":[1],"num_heads":16}})", "expected an even number"},
    {"gated_deltanet", R"({"attn":[{"layers":[1],"num_heads":4},{"layers":[1],"num_heads":4}]})",
     "listed twice"},
    {"delta_net", R"({"qk_activation":"gelu"})", "supported: silu, relu, elu, identity"},
    {"delta_net", R"({"qk_norm":"rms"})", "supported: l2, sum"},
    {"delta_net", R"({"num_heads":3})", "hidden_size times expand_k is 8, expected a multiple"},
    {"gla", R"({"feature_map":"elu"})", "\"feature_map\" is \"elu\""},
    {"gla", R"({"feature_map":7})", "\"feature_map\" is 7"},
    {"gla", R"({"num_kv_heads":3})", "num_kv_heads (3)"},
    {"gla", R"({"clamp_min":"x"})", "\"clamp_min\""},
    {"retnet", R"({"expand_k":0.75})", "expected an even number"},
    {"hgrn", R"({"expand_ratio":2})", "the lower bounds are as wide as hidden_size"},
    {"hgrn2", R"({"expand_ratio":5})", "multiple of expand_ratio (5)"},
    {"hgrn2", R"({"expand_ratio":null,"num_heads":null})", "\"expand_ratio\""},
    {"rwkv6", R"({"hidden_act":"swish"})", "supported: sqrelu"},
    {"rwkv6", R"({"proj_low_rank_dim":0})", "\"proj_low_rank_dim\""},
    {"rwkv6", R"({"attnres_block_size":2})", "attention residuals"},
    {"mamba2", R"({"num_heads":4})", "num_heads is 4, expected 8"},
    {"mamba2", R"({"head_dim":5})", "multiple of head_dim (5)"},
    {"mamba2", R"({"n_groups":3})", "multiple of n_groups (3)"},
    {"mamba2", R"({"hidden_act":"relu"})", "supported: silu"},
    {"mamba2", R"({"dt_limit":[0]})", "expected two numbers"},
    {"mamba2", R"({"dt_limit":[1,0.5]})", "the lower one first"},
    {"mamba2", R"({"dt_limit":[-1,1]})", "not negative"},
    {"mamba2", R"({"dt_limit":[0,NaN]})", "expected two numbers"},
    {"mamba2", R"({"dt_limit":[0,{"__float__":"Infinite"}]})", "expected two numbers"},
    {"mamba2", R"({"rmsnorm":false})", "\"norm_before_gate\""},
    // NAtS-L.
    {"neural_attention_search_linear_attn_gdn", R"({"nats_block_size":128})",
     "\"nats_block_size\" is 128 (number), which is not supported; supported: 64"},
    {"neural_attention_search_linear_attn_gdn", R"({"n_ops":3})", "supported: 2"},
    {"neural_attention_search_linear_attn_gdn", R"({"nats_sample_strategy":"gumble"})",
     "\"gumble\" (string), which is not supported; supported: argmax"},
    {"neural_attention_search_linear_attn_gdn", R"({"nats_block_agg_type":"max"})",
     "supported: mean"},
    {"neural_attention_search_linear_attn_gdn", R"({"incomplete_block_start_with_ht":false})",
     "which is not supported; supported: true"},
    {"neural_attention_search_linear_attn_gdn", R"({"ops_for_incomplete_chunks":"none"})",
     "supported: all, attn, gated_delta_net"},
    {"neural_attention_search_linear_attn_gdn", R"({"num_attn_heads":3})",
     "multiple of num_attn_heads (3)"},
    {"neural_attention_search_linear_attn_gdn", R"({"num_nats_head":3})",
     "multiple of num_nats_head (3)"},
    {"neural_attention_search_linear_attn_gdn", R"({"num_nats_head":4})",
     "num_v_heads is 2, expected a multiple of num_nats_head (4)"},
    {"neural_attention_search_linear_attn_gdn", R"({"gdn_layers":[3]})", "from 0 to 2"},
    {"neural_attention_search_linear_attn_gdn", R"({"gdn_layers":"all"})", "\"gdn_layers\""},
    {"neural_attention_search_linear_attn_gdn", R"({"num_attn_heads":16})",
     "expected an even number"},
};

TEST(MalformedConfigs, EveryBadFieldIsRefusedByName) {
  EXPECT_GE(std::size(kBadFields), 100u);
  for (const BadField& bad : kBadFields) {
    SCOPED_TRACE(std::string(bad.family) + " " + bad.fields);
    const std::string text = SpecError(With(bad.family, bad.fields));
    EXPECT_THAT(text, StartsWith("config.json: "));
    EXPECT_THAT(text, HasSubstr(bad.expected));
  }
}

TEST(MalformedConfigs, EveryFieldWithEveryTypeIsReadOrRefused) {
  const char* values[] = {"null", "true",  "-1", "0",    "0.5", "1e300", "4611686018427387904",
                          "\"\"", "\"x\"", "[]", "[[]]", "{}",  "NaN",   "{\"x\":{\"y\":1}}"};
  int errors = 0;
  for (const auto& [family, text] : SmallConfigs()) {
    const core::Json config =
        core::ParseJson(text, family, ErrorCode::kInternal, {.python_numbers = true});
    for (const auto& [key, value] : config.items()) {
      if (key == "model_type") continue;
      for (const char* other : values) {
        const std::string message = SpecError(With(family, "{\"" + key + "\":" + other + "}"));
        if (message.empty()) continue;
        SCOPED_TRACE(family + " " + key + " " + other);
        EXPECT_THAT(message, StartsWith("config.json"));
        EXPECT_LT(message.size(), 400u);
        ++errors;
      }
      // Objects and lists of objects are never a field's value but for these.
      if (key != "attn" && key != "rope_scaling" && !key.ends_with("_config")) {
        EXPECT_THAT(SpecError(With(family, "{\"" + key + "\":{\"x\":1}}")), HasSubstr(key));
      }
    }
  }
  EXPECT_GT(errors, 1000);
}

TEST(MalformedConfigs, EveryTruncationIsAnError) {
  for (const auto& [family, text] : SmallConfigs()) {
    SCOPED_TRACE(family);
    for (size_t size = 0; size < text.size(); ++size)
      EXPECT_NE(SpecError(text.substr(0, size)), "");
  }
}

TEST(MalformedConfigs, FlippedBytesNeverCrash) {
  int errors = 0;
  for (const auto& [family, text] : SmallConfigs()) {
    for (size_t i = 0; i < text.size(); ++i) {
      std::string changed = text;
      changed[i] = static_cast<char>(changed[i] ^ (i % 2 == 0 ? 0x04 : 0x80));
      errors += !SpecError(changed).empty();
    }
  }
  EXPECT_GT(errors, 2000);
}

}  // namespace
}  // namespace natsl::model_adapters
