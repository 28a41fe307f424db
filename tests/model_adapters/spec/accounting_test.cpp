// Parameters, work and state against values computed by hand from the specs' tables.
#include "model_adapters/spec/accounting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model_adapters/spec/checkpoint.h"
#include "tests/model_adapters/spec/configs.h"

namespace natsl::model_adapters {
namespace {

using testing::ElementsAre;
using testing::Pair;

ModelSpec SpecOf(const std::string& text) { return ParseModelSpec(text, "config.json"); }

/// State of one layer of a family at the class's (or the given) sizes.
StateBytes OneLayer(const std::string& fields, int64_t length = 1000, int64_t activation = 2,
                    double share = 0) {
  return StateBytesAt(SpecOf("{\"num_hidden_layers\":1," + fields + "}"), length, activation,
                      share);
}

TEST(Accounting, ParametersOfTheTransformerByHand) {
  const ParameterCounts counts = CountParameters(SpecOf(R"({"model_type":"transformer"})"));
  EXPECT_EQ(counts.embeddings, 32000 * 2048);
  EXPECT_EQ(counts.head, 32000 * 2048);
  EXPECT_EQ(counts.softmax_mixers, int64_t{24} * 4 * 2048 * 2048);
  EXPECT_EQ(counts.mlps, int64_t{24} * 3 * 2048 * 5632);
  EXPECT_EQ(counts.norms, 24 * 2 * 2048 + 2048);
  EXPECT_EQ(counts.linear_mixers + counts.mixed_mixers + counts.other, 0);
  EXPECT_EQ(counts.total(), 1'364'297'728);  // "1.36B"
}

TEST(Accounting, ParametersAreAllCountedOnce) {
  for (const auto& [family, config] : SmallConfigs()) {
    SCOPED_TRACE(family);
    const ModelSpec spec = SpecOf(config);
    int64_t total = 0;
    for (const SlotSpec& slot : ExpectedSlots(spec)) {
      int64_t elements = 1;
      for (const int64_t size : slot.shape) elements *= size;
      total += elements;
    }
    EXPECT_EQ(CountParameters(spec).total(), total);
  }
}

TEST(Accounting, ParametersOfAHybridByHand) {
  // Hidden 16; layers: gated DeltaNet, attention, gated DeltaNet; tied head.
  const ParameterCounts counts = CountParameters(SpecOf(SmallConfigs().at("gated_deltanet")));
  EXPECT_EQ(counts.embeddings, 160);
  EXPECT_EQ(counts.head, 0);
  // q, k: 2 heads of 4; v, gate, o: 4 heads of 8; a, b, A_log, dt_bias; convolutions; norm.
  EXPECT_EQ(counts.linear_mixers, 2 * (2 * 8 * 16 + 3 * 32 * 16 + 2 * 4 * 16 + 8 + 48 * 4 + 8));
  EXPECT_EQ(counts.softmax_mixers, 2 * 16 * 16 + 2 * 8 * 16 + 16 + 8 + 8);
  EXPECT_EQ(counts.mlps, 3 * 3 * 24 * 16);
  EXPECT_EQ(counts.norms, 3 * 2 * 16 + 16);
}

TEST(Accounting, StateOfEachFamilyAsItsTableSays) {
  const auto delta = OneLayer(R"("model_type":"delta_net")");
  EXPECT_EQ(delta.recurrent, 1'048'576);
  EXPECT_EQ(delta.convolution, 3 * 2048 * 3 * 4);  // W - 1 inputs of q, k, v in float32
  EXPECT_EQ(delta.kv, 0);
  const auto gdn = OneLayer(R"("model_type":"gated_deltanet")");
  EXPECT_EQ(gdn.recurrent, 3'145'728);
  EXPECT_EQ(gdn.convolution, 73'728);
  const auto gla = OneLayer(R"("model_type":"gla")");
  EXPECT_EQ(gla.recurrent, 2'097'152);
  EXPECT_EQ(gla.convolution, 0);
  EXPECT_EQ(OneLayer(R"("model_type":"retnet")").recurrent, 4'194'304);
  EXPECT_EQ(OneLayer(R"("model_type":"hgrn2")").recurrent, 1'048'576);
  EXPECT_EQ(OneLayer(R"("model_type":"hgrn")").recurrent, 8'192);
  EXPECT_EQ(OneLayer(R"("model_type":"hgrn","use_short_conv":true)").convolution, 2 * 2048 * 3 * 4);
  const auto mamba = OneLayer(R"("model_type":"mamba2")");
  EXPECT_EQ(mamba.recurrent, 2'097'152);
  EXPECT_EQ(mamba.convolution, 52'224);
  const auto rwkv = OneLayer(R"("model_type":"rwkv6")");
  EXPECT_EQ(rwkv.recurrent, 2'097'152);
  EXPECT_EQ(rwkv.convolution, 2 * 2048 * 4);  // two token shifts
  // A softmax layer of an RWKV6 hybrid keeps the channel mix's shift.
  EXPECT_EQ(OneLayer(R"("model_type":"rwkv6","attn":{"layers":[0],"num_heads":32})").convolution,
            2048 * 4);
}

TEST(Accounting, KeysAndValuesGrowWithTheLengthUpToTheWindow) {
  const std::string llama =
      R"("model_type":"llama","hidden_size":64,"num_attention_heads":4,"num_key_value_heads":2)";
  EXPECT_EQ(OneLayer(llama, 0).kv, 0);
  EXPECT_EQ(OneLayer(llama, 100).kv, 2 * 2 * 16 * 2 * 100);
  EXPECT_EQ(OneLayer(llama, 100, 4).kv, 2 * 2 * 16 * 4 * 100);
  const std::string window =
      R"("model_type":"transformer","hidden_size":64,"num_heads":4,"window_size":10)";
  EXPECT_EQ(OneLayer(window, 7).kv, 2 * 64 * 2 * 7);
  EXPECT_EQ(OneLayer(window, 1000).kv, 2 * 64 * 2 * 10);
}

TEST(Accounting, NatsLAsItsTableSays) {
  const std::string natsl = R"("model_type":"neural_attention_search_linear_attn_gdn",
      "hidden_size":1024,"head_dim":128)";
  const auto empty = OneLayer(natsl, 0);
  EXPECT_EQ(empty.recurrent, 2 * 786'432 + 24 + 4'096);
  EXPECT_EQ(empty.convolution, 36'864);
  EXPECT_EQ(empty.kv, 0);
  EXPECT_EQ(OneLayer(natsl, 63).kv, 294'912);  // the current chunk
  // 10 complete chunks: none, half, all of them kept.
  EXPECT_EQ(OneLayer(natsl, 650, 2, 0).kv, 294'912);
  EXPECT_EQ(OneLayer(natsl, 650, 2, 0.5).kv, 6 * 294'912);
  EXPECT_EQ(OneLayer(natsl, 650, 2, 1).kv, 11 * 294'912);
  EXPECT_EQ(OneLayer(natsl, 650, 4, 1).kv, 2 * 11 * 294'912);
}

TEST(Accounting, FlopsOfTheTransformerByHand) {
  const ModelSpec spec = SpecOf(SmallConfigs().at("transformer"));
  const TokenFlops flops = FlopsPerToken(spec, 5, 0);
  EXPECT_EQ(flops.projections, 2 * 2 * (2 * 16 * 16 + 2 * 8 * 16));
  EXPECT_EQ(flops.mlps, 2 * 2 * 3 * 24 * 16);
  EXPECT_EQ(flops.head, 2 * 10 * 16);
  EXPECT_EQ(flops.mixing, 2 * 4 * 16 * 5);
  EXPECT_EQ(FlopsPerToken(spec, 100, 0).mixing, 2 * 4 * 16 * 8);  // window 8
  EXPECT_EQ(flops.total(), flops.projections + flops.mlps + flops.head + flops.mixing);
}

TEST(Accounting, FlopsOfRecurrentFamiliesDoNotGrow) {
  for (const char* family : {"delta_net", "gla", "retnet", "hgrn", "mamba2"}) {
    const ModelSpec spec = SpecOf(SmallConfigs().at(family));
    EXPECT_EQ(FlopsPerToken(spec, 1, 0).total(), FlopsPerToken(spec, 100'000, 0).total());
  }
  // RetNet: 4 heads of 4 x 8, two layers, no convolution.
  EXPECT_EQ(FlopsPerToken(SpecOf(SmallConfigs().at("retnet")), 9, 0).mixing, 2 * 5 * 4 * 4 * 8);
  // Mamba2: 8 heads of 4 x 6; 56 channels of width 4.
  EXPECT_EQ(FlopsPerToken(SpecOf(SmallConfigs().at("mamba2")), 9, 0).mixing,
            2 * (5 * 8 * 4 * 6 + 2 * 4 * 56));
}

TEST(Accounting, FlopsOfNatsLFollowTheSoftmaxShare) {
  const ModelSpec spec = SpecOf(R"({"model_type":"neural_attention_search_linear_attn_gdn",
      "num_hidden_layers":1,"hidden_size":16,"num_heads":2,"head_dim":8,"num_attn_heads":4,
      "intermediate_size":24,"use_short_conv":false})");
  const double recurrent = 7 * 2 * 8 * 16;
  const double width = 16 + 32;  // of keys and values a token
  EXPECT_EQ(FlopsPerToken(spec, 64, 1).mixing, recurrent + 2 * width * 64);
  EXPECT_EQ(FlopsPerToken(spec, 65, 0).mixing, recurrent + 2 * width * 1);
  EXPECT_EQ(FlopsPerToken(spec, 65, 1).mixing, recurrent + 2 * width * 65);
  EXPECT_EQ(FlopsPerToken(spec, 641, 0.5).mixing, recurrent + 2 * width * (5 * 64 + 1));
}

TEST(Accounting, Description) {
  const ModelDescription hybrid = Describe(SpecOf(SmallConfigs().at("gated_deltanet")));
  EXPECT_EQ(hybrid.family, "gated_deltanet");
  EXPECT_EQ(hybrid.layers, 3);
  EXPECT_THAT(hybrid.layer_kinds,
              ElementsAre(Pair("gated DeltaNet", 2), Pair("sliding-window attention", 1)));
  EXPECT_DOUBLE_EQ(hybrid.softmax_layer_share, 1.0 / 3);
  EXPECT_EQ(hybrid.mixed_layer_share, 0);
  const ModelDescription natsl =
      Describe(SpecOf(SmallConfigs().at("neural_attention_search_linear_attn_gdn")));
  EXPECT_THAT(natsl.layer_kinds, ElementsAre(Pair("NAtS-L", 2), Pair("gated DeltaNet", 1)));
  EXPECT_DOUBLE_EQ(natsl.mixed_layer_share, 2.0 / 3);
  EXPECT_EQ(natsl.parameters.mixed_mixers > 0, true);
}

}  // namespace
}  // namespace natsl::model_adapters
