// What each family's config becomes: fields, class defaults, hybrids, both dialects.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include "core/error.h"
#include "model_adapters/spec/checkpoint.h"
#include "tests/model_adapters/spec/configs.h"

namespace natsl::model_adapters {
namespace {

ModelSpec Parse(const std::string& text) { return ParseModelSpec(text, "config.json"); }
ModelSpec Small(const std::string& family) { return Parse(SmallConfigs().at(family)); }
template <typename Mixer>
Mixer MixerOf(const ModelSpec& spec, size_t layer) {
  return std::get<Mixer>(spec.layers.at(layer).mixer);
}

TEST(Families, SmallConfigsCoverEveryOneAndLeaveNothingUnread) {
  std::vector<std::string> names;
  for (const auto& [name, text] : SmallConfigs()) {
    SCOPED_TRACE(name);
    names.push_back(name);
    const ModelSpec spec = Parse(text);
    EXPECT_EQ(spec.family, name);
    EXPECT_EQ(spec.hidden, 16);
    EXPECT_EQ(spec.vocabulary, 10);
    EXPECT_THAT(spec.ignored_keys, testing::IsEmpty());
  }
  EXPECT_EQ(names, SupportedModelTypes());
}

TEST(Families, Transformer) {
  const ModelSpec spec = Small("transformer");
  const auto& mixer = MixerOf<AttentionSpec>(spec, 1);
  EXPECT_EQ(mixer.heads, 4);
  EXPECT_EQ(mixer.kv_heads, 2);
  EXPECT_EQ(mixer.head_dim, 4);
  EXPECT_EQ(mixer.scale, 0.5);
  EXPECT_EQ(mixer.window, 8);
  EXPECT_EQ(mixer.rope->base, 500);
  EXPECT_EQ(mixer.rope->dims, 4);
  EXPECT_TRUE(mixer.qkv_bias);
  EXPECT_FALSE(mixer.o_bias);
  EXPECT_EQ(mixer.qk_norm->eps, 1e-5);  // not norm_eps
  EXPECT_EQ(spec.layers[0].mlp.width, 24);
  EXPECT_EQ(spec.max_positions, 64);
}

TEST(Families, FlaClassDefaults) {
  const ModelSpec transformer = Parse(R"({"model_type":"transformer"})");
  EXPECT_EQ(transformer.hidden, 2048);
  EXPECT_EQ(transformer.layers.size(), 24u);
  EXPECT_EQ(transformer.vocabulary, 32000);
  EXPECT_EQ(transformer.layers[0].mlp.width, 5632);
  EXPECT_EQ(transformer.final_norm.eps, 1e-6);
  EXPECT_EQ(transformer.max_positions, 2048);
  EXPECT_EQ(transformer.bos_token, 1);
  EXPECT_EQ(transformer.eos_token, 2);
  EXPECT_FALSE(transformer.tied_head);
  EXPECT_EQ(MixerOf<AttentionSpec>(transformer, 0).heads, 32);

  const ModelSpec gdn = Parse(R"({"model_type":"gated_deltanet"})");
  EXPECT_EQ(gdn.layers.size(), 21u);
  const auto& delta = MixerOf<DeltaNetSpec>(gdn, 0);
  EXPECT_EQ(delta.heads, 6);
  EXPECT_EQ(delta.value_heads, 6);
  EXPECT_EQ(delta.key_dim, 256);
  EXPECT_EQ(delta.value_dim, 512);
  EXPECT_TRUE(delta.decay && delta.output_gate && delta.use_beta && delta.conv);

  const auto& plain = MixerOf<DeltaNetSpec>(Parse(R"({"model_type":"delta_net"})"), 0);
  EXPECT_EQ(plain.heads, 16);
  EXPECT_EQ(plain.key_dim, 128);
  EXPECT_FALSE(plain.decay || plain.output_gate);
  EXPECT_EQ(plain.qk_activation, Activation::kSilu);

  const auto& gla = MixerOf<LinearAttentionSpec>(Parse(R"({"model_type":"gla"})"), 0);
  EXPECT_EQ(gla.heads, 4);
  EXPECT_EQ(gla.key_dim, 256);
  EXPECT_EQ(gla.value_dim, 512);
  EXPECT_FALSE(gla.conv);
  EXPECT_FALSE(gla.clamp_min);

  const ModelSpec retnet = Parse(R"({"model_type":"retnet"})");
  EXPECT_EQ(retnet.layers[0].mlp.width, 2816);  // ratio 2
  EXPECT_EQ(MixerOf<LinearAttentionSpec>(retnet, 0).value_dim, 512);
  EXPECT_EQ(MixerOf<LinearAttentionSpec>(retnet, 0).rope->dims, 256);

  EXPECT_EQ(MixerOf<HgrnSpec>(Parse(R"({"model_type":"hgrn"})"), 0).width, 2048);
  const auto& hgrn2 = MixerOf<LinearAttentionSpec>(Parse(R"({"model_type":"hgrn2"})"), 0);
  EXPECT_EQ(hgrn2.heads, 16);
  EXPECT_EQ(hgrn2.output_norm.eps, 1e-5);

  const ModelSpec rwkv = Parse(R"({"model_type":"rwkv6"})");
  EXPECT_EQ(rwkv.layers[0].mlp.width, 7168);
  EXPECT_EQ(MixerOf<Rwkv6Spec>(rwkv, 0).key_dim, 256);
  EXPECT_EQ(MixerOf<Rwkv6Spec>(rwkv, 0).value_dim, 512);
  EXPECT_TRUE(rwkv.layers[0].pre_norm && !rwkv.layers[1].pre_norm);

  const ModelSpec nats = Parse(R"({"model_type":"neural_attention_search_linear_attn_gdn"})");
  const auto& mixer = MixerOf<NatsSpec>(nats, 20);
  EXPECT_EQ(nats.layers.size(), 21u);
  EXPECT_EQ(mixer.attention_heads, 12);
  EXPECT_EQ(mixer.nats_heads, 6);
  EXPECT_TRUE(mixer.attention_rope.has_value());  // the class's defaults, unlike released files
  EXPECT_FALSE(mixer.attention_qk_norm || mixer.attention_after_conv ||
               mixer.decay_over_softmax_chunks);
}

TEST(Families, GatedDeltaNetHybrid) {
  const ModelSpec spec = Small("gated_deltanet");
  const auto& delta = MixerOf<DeltaNetSpec>(spec, 0);
  EXPECT_EQ(delta.value_heads, 4);
  EXPECT_EQ(delta.value_dim, 8);
  EXPECT_TRUE(delta.negative_eigenvalues);
  EXPECT_EQ(delta.output_norm.eps, 1e-5);
  const auto& attention = MixerOf<AttentionSpec>(spec, 1);
  EXPECT_EQ(attention.kv_heads, 2);
  EXPECT_EQ(attention.window, 8);
  EXPECT_EQ(attention.rope->base, 100);
  EXPECT_FALSE(attention.qk_norm);
  EXPECT_TRUE(std::holds_alternative<DeltaNetSpec>(spec.layers[2].mixer));
  EXPECT_TRUE(spec.tied_head);
}

TEST(Families, AttentionMayBeAListOfObjects) {
  const ModelSpec spec = Small("hgrn2");
  EXPECT_EQ(MixerOf<AttentionSpec>(spec, 0).head_dim, 8);
  EXPECT_EQ(MixerOf<AttentionSpec>(spec, 1).head_dim, 4);
  EXPECT_TRUE(spec.lower_bounds);
}

TEST(Families, NatsL) {
  const ModelSpec spec = Small("neural_attention_search_linear_attn_gdn");
  EXPECT_FALSE(MixerOf<DeltaNetSpec>(spec, 1).conv->bias);  // plain layers ignore conv_bias
  const auto& mixer = MixerOf<NatsSpec>(spec, 0);
  EXPECT_TRUE(mixer.delta.conv->bias);
  EXPECT_EQ(mixer.nats_heads, 2);
  EXPECT_EQ(mixer.attention_rope->dims, 4);  // 2 heads of 8 as 4 of 4
  EXPECT_EQ(mixer.attention_qk_norm->eps, 1e-6);
  EXPECT_TRUE(mixer.decay_over_softmax_chunks && mixer.attention_after_conv);
  EXPECT_EQ(mixer.own_chunk, NatsSpec::OwnChunk::kAll);
}

TEST(Families, Mamba2Flavours) {
  const auto& fla = MixerOf<Mamba2Spec>(Small("mamba2"), 0);
  EXPECT_TRUE(fla.norm_before_gate && fla.d_has_head_dim && fla.projection_bias);
  EXPECT_EQ(fla.dt_limit[0], 0.01);
  EXPECT_EQ(fla.dt_limit[1], std::numeric_limits<double>::infinity());
  const auto& defaults = MixerOf<Mamba2Spec>(Parse(R"({"model_type":"mamba2"})"), 0);
  EXPECT_EQ(defaults.heads, 64);
  EXPECT_EQ(defaults.groups, 1);
  const ModelSpec hf = Parse(R"({"model_type":"mamba2","layer_norm_epsilon":1e-5,
      "norm_before_gate":true,"rms_norm":false,
      "time_step_limit":[0.0,{"__float__":"Infinity"}]})");
  EXPECT_EQ(hf.hidden, 4096);
  EXPECT_EQ(hf.layers.size(), 64u);
  EXPECT_EQ(hf.vocabulary, 32768);
  EXPECT_FALSE(hf.max_positions.has_value());
  const auto& mixer = MixerOf<Mamba2Spec>(hf, 0);
  EXPECT_EQ(mixer.heads, 128);
  EXPECT_EQ(mixer.groups, 8);
  EXPECT_TRUE(mixer.gated_norm && !mixer.norm_before_gate);  // inert in that class
  EXPECT_EQ(mixer.dt_limit[1], std::numeric_limits<double>::infinity());
  EXPECT_EQ(hf.layers[0].mlp.kind, MlpSpec::Kind::kNone);
}

TEST(Families, HfClassDefaults) {
  const ModelSpec llama = Parse(R"({"model_type":"llama"})");
  EXPECT_EQ(llama.hidden, 4096);
  EXPECT_EQ(llama.layers[0].mlp.width, 11008);
  EXPECT_EQ(MixerOf<AttentionSpec>(llama, 0).kv_heads, 32);
  EXPECT_EQ(MixerOf<AttentionSpec>(llama, 0).head_dim, 128);
  const ModelSpec qwen = Parse(R"({"model_type":"qwen3","hidden_size":1024,
                                   "num_attention_heads":16,"num_key_value_heads":8})");
  EXPECT_EQ(MixerOf<AttentionSpec>(qwen, 0).head_dim, 128);
  EXPECT_EQ(MixerOf<AttentionSpec>(qwen, 0).window, std::nullopt);
  EXPECT_TRUE(MixerOf<AttentionSpec>(qwen, 0).qk_norm.has_value());
  // An absent window is the class's; null means none.
  const ModelSpec mistral = Parse(R"({"model_type":"mistral"})");
  EXPECT_EQ(MixerOf<AttentionSpec>(mistral, 31).window, 4096);
  EXPECT_EQ(MixerOf<AttentionSpec>(mistral, 0).kv_heads, 8);
  EXPECT_EQ(mistral.max_positions, 131072);
  const ModelSpec windowless = Parse(R"({"model_type":"mistral","sliding_window":null})");
  EXPECT_EQ(MixerOf<AttentionSpec>(windowless, 0).window, std::nullopt);
  EXPECT_TRUE(Parse(R"({"model_type":"smollm3"})").tied_head);
  const ModelSpec gemma = Parse(R"({"model_type":"gemma3_text"})");
  EXPECT_TRUE(gemma.tied_head);
  EXPECT_EQ(gemma.vocabulary, 262208);
  EXPECT_EQ(MixerOf<AttentionSpec>(gemma, 0).window, 4096);
  EXPECT_EQ(MixerOf<AttentionSpec>(gemma, 5).window, std::nullopt);
  EXPECT_EQ(MixerOf<AttentionSpec>(gemma, 0).rope->base, 1e4);
  EXPECT_EQ(MixerOf<AttentionSpec>(gemma, 5).rope->base, 1e6);
  const ModelSpec neox = Parse(R"({"model_type":"gpt_neox"})");
  EXPECT_EQ(MixerOf<AttentionSpec>(neox, 0).rope->dims, 24);  // a quarter of 96
  EXPECT_EQ(neox.layers.size(), 44u);
}

TEST(Families, WindowsOfQwen3AndSmolLm3) {
  const ModelSpec qwen = Small("qwen3");
  EXPECT_EQ(MixerOf<AttentionSpec>(qwen, 0).window, std::nullopt);
  EXPECT_EQ(MixerOf<AttentionSpec>(qwen, 1).window, 8);
  const ModelSpec smol = Small("smollm3");
  EXPECT_TRUE(MixerOf<AttentionSpec>(smol, 0).rope.has_value());
  EXPECT_FALSE(MixerOf<AttentionSpec>(smol, 1).rope.has_value());
  EXPECT_EQ(MixerOf<AttentionSpec>(smol, 0).window, std::nullopt);
  EXPECT_EQ(MixerOf<AttentionSpec>(smol, 1).window, 8);
}

TEST(Families, Gemma3) {
  const ModelSpec spec = Small("gemma3_text");
  EXPECT_EQ(spec.embedding_scale, 4);
  EXPECT_EQ(spec.logit_soft_cap, 30);
  EXPECT_EQ(spec.final_norm.kind, NormKind::kRmsOnePlus);
  const auto& local = MixerOf<AttentionSpec>(spec, 0);
  const auto& global = MixerOf<AttentionSpec>(spec, 1);
  EXPECT_NEAR(local.scale, 1.0 / 3, 1e-15);
  EXPECT_EQ(local.window, 8);
  EXPECT_EQ(local.rope->scaling, RopeSpec::Scaling::kNone);
  EXPECT_EQ(global.window, std::nullopt);
  EXPECT_EQ(global.rope->scaling, RopeSpec::Scaling::kLinear);
  EXPECT_EQ(global.rope->factor, 8);
  EXPECT_EQ(spec.layers[0].mlp.activation, Activation::kGeluTanh);
  EXPECT_TRUE(spec.layers[0].mixer_post_norm && spec.layers[0].mlp_post_norm);
  // The wrapper's own field decides on the head.
  EXPECT_FALSE(Parse(R"({"model_type":"gemma3","tie_word_embeddings":false,
                         "text_config":{"tie_word_embeddings":true}})")
                   .tied_head);
}

TEST(Families, GptNeox) {
  const ModelSpec spec = Small("gpt_neox");
  EXPECT_TRUE(spec.layers[0].parallel_residual);
  EXPECT_EQ(spec.layers[0].mlp.kind, MlpSpec::Kind::kPlain);
  EXPECT_EQ(spec.layers[0].mlp.activation, Activation::kGeluErf);
  EXPECT_EQ(spec.final_norm.kind, NormKind::kLayer);
  EXPECT_EQ(MixerOf<AttentionSpec>(spec, 0).rope->dims, 2);
  EXPECT_TRUE(MixerOf<AttentionSpec>(spec, 0).o_bias);
}

TEST(Families, RotaryScaling) {
  const auto rope = [](const std::string& fields) {
    return *MixerOf<AttentionSpec>(Parse(R"({"model_type":"llama",)" + fields + "}"), 0).rope;
  };
  const RopeSpec llama3 = *MixerOf<AttentionSpec>(Small("llama"), 0).rope;
  EXPECT_EQ(llama3.scaling, RopeSpec::Scaling::kLlama3);
  EXPECT_EQ(llama3.original_max_positions, 256);
  const RopeSpec yarn = *MixerOf<AttentionSpec>(Small("qwen3"), 0).rope;
  EXPECT_EQ(yarn.scaling, RopeSpec::Scaling::kYarn);
  EXPECT_EQ(yarn.beta_fast, 32);
  EXPECT_NEAR(yarn.attention_factor, 0.1 * std::log(4.0) + 1, 1e-15);
  EXPECT_EQ(rope(R"("rope_scaling":{"type":"yarn","factor":2,"mscale":2,"mscale_all_dim":2})")
                .attention_factor,
            1);
  EXPECT_EQ(
      rope(R"("rope_scaling":{"type":"yarn","factor":2,"attention_factor":1.5})").attention_factor,
      1.5);
  // yarn's original length defaults to the model's.
  EXPECT_EQ(rope(R"("max_position_embeddings":77,"rope_scaling":{"type":"yarn","factor":2})")
                .original_max_positions,
            77);
  // What stands inside the newer object wins.
  EXPECT_EQ(rope(R"("rope_theta":5,"rope_parameters":{"rope_theta":7,"rope_type":"default"})").base,
            7);
  EXPECT_EQ(rope(R"("rope_parameters":{"rope_type":"default","partial_rotary_factor":0.5})").dims,
            64);
  EXPECT_EQ(rope(R"("rope_scaling":null)").base, 10000);
}

TEST(Families, UnknownKeysAreCollected) {
  const ModelSpec spec = Parse(R"({"model_type":"gated_deltanet","usegate":false,
      "attn":{"layers":[0],"num_heads":16,"slopes":1},"zzz":{"a":1},"fuse_norm":false})");
  EXPECT_THAT(spec.ignored_keys, testing::ElementsAre("attn.slopes", "usegate", "zzz"));
  const ModelSpec gemma = Parse(R"({"model_type":"gemma3","text_config":{"head_size":3}})");
  EXPECT_THAT(gemma.ignored_keys, testing::ElementsAre("text_config.head_size"));
}

TEST(Families, MaximumLengthAndTokenIds) {
  EXPECT_EQ(Parse(R"({"model_type":"llama","n_positions":7,"n_ctx":9})").max_positions, 7);
  EXPECT_EQ(Parse(R"({"model_type":"mamba2","n_ctx":9})").max_positions, 9);
  EXPECT_EQ(Parse(R"({"model_type":"llama","eos_token_id":[5,6]})").eos_token, 5);
  EXPECT_EQ(Parse(R"({"model_type":"llama","bos_token_id":null})").bos_token, std::nullopt);
}

TEST(Families, IntegersMayBeWrittenAsFloats) {
  EXPECT_EQ(Parse(R"({"model_type":"transformer","hidden_size":64.0,"num_heads":4})").hidden, 64);
}

TEST(Families, BenchmarkConfigsHaveTheirSizes) {
  const auto folder = std::filesystem::path(NATSL_SOURCE_DIR) / ".." / "shared" / "bench";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no ../shared/bench";
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".json") continue;
    SCOPED_TRACE(entry.path().string());
    const ModelSpec spec = LoadModelSpec(entry.path());
    double parameters = 0;
    for (const SlotSpec& slot : ExpectedSlots(spec)) {
      double elements = 1;
      for (const int64_t size : slot.shape) elements *= static_cast<double>(size);
      parameters += elements;
    }
    const bool large = entry.path().filename().string().find("760m") != std::string::npos;
    EXPECT_GT(parameters, large ? 0.77e9 : 0.33e9);
    EXPECT_LT(parameters, large ? 0.81e9 : 0.40e9);
    EXPECT_EQ(spec.max_positions, 135168);
    EXPECT_THAT(spec.ignored_keys, testing::IsEmpty());
    ++count;
  }
  EXPECT_EQ(count, 13);
}

}  // namespace
}  // namespace natsl::model_adapters
