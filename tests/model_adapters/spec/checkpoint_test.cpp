// Weights by slot: every family's names, fused tensors, wrappers, and what is wrong in one error.
#include "model_adapters/spec/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "core/hash.h"
#include "model_adapters/safetensors/writer.h"
#include "tests/model_adapters/safetensors/test_files.h"
#include "tests/model_adapters/spec/configs.h"

namespace natsl::model_adapters {
namespace {

using testing::HasSubstr;
using testing::Not;

int64_t Elements(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  return count;
}

/// Tensors to be: name -> shape; values count up from `first`.
struct Tensors {
  std::map<std::string, std::vector<int64_t>> shapes;
  std::map<std::string, core::DType> dtypes;

  std::string Bytes() const {
    SafetensorsWriter writer;
    float next = 0;
    for (const auto& [name, shape] : shapes) {
      std::vector<float> values;
      for (int64_t i = 0; i < Elements(shape); ++i) values.push_back(next++);
      const auto dtype = dtypes.find(name);
      if (dtype == dtypes.end()) {
        writer.Add(name, shape, values);
      } else {
        const std::vector<std::byte> zeros(
            static_cast<size_t>(Elements(shape) * core::ByteSize(dtype->second)));
        writer.Add(name, dtype->second, shape, zeros);
      }
    }
    return writer.Bytes();
  }
};

/// The tensors a checkpoint of this config holds, by the writers' names.
Tensors TensorsOf(const std::string& config) {
  const ModelSpec spec = ParseModelSpec(config, "config");
  Tensors tensors;
  for (const SlotSpec& slot : ExpectedSlots(spec)) {
    tensors.shapes[TensorName(spec, slot.slot)] = slot.shape;
  }
  return tensors;
}

/// The error of opening; "" where the folder opens.
std::string ErrorOf(const std::string& config, const Tensors& tensors) {
  const TemporaryFolder folder("checkpoint");
  folder.Write("config.json", config);
  folder.Write("model.safetensors", tensors.Bytes());
  try {
    Checkpoint{folder.path()};
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kModel);
    return error.what();
  }
}

float ValueAt(const WeightView& view, int64_t row, int64_t column) {
  float value = 0;
  std::memcpy(&value, view.data + row * view.row_stride_bytes + column * 4, 4);
  return value;
}

TEST(Checkpoint, EveryFamilyOpensByItsOwnNames) {
  for (const auto& [family, config] : SmallConfigs()) {
    if (family == "gpt_neox") continue;  // its q, k and v are fused: below
    SCOPED_TRACE(family);
    EXPECT_EQ(ErrorOf(config, TensorsOf(config)), "");
  }
}

TEST(Checkpoint, NamesAreTheReferences) {
  const auto has = [](const std::string& family, const std::string& name,
                      const std::vector<int64_t>& shape) {
    SCOPED_TRACE(name);
    const Tensors tensors = TensorsOf(SmallConfigs().at(family));
    ASSERT_TRUE(tensors.shapes.contains(name));
    EXPECT_EQ(tensors.shapes.at(name), shape);
  };
  using Shape = std::vector<int64_t>;
  has("transformer", "model.layers.1.attn.k_proj.bias", Shape{8});
  has("gated_deltanet", "model.layers.0.attn.v_conv1d.weight", Shape{32, 1, 4});
  has("gated_deltanet", "model.layers.0.attn.o_norm.weight", Shape{8});
  has("gated_deltanet", "model.layers.1.attn.q_proj.bias", Shape{16});
  has("delta_net", "model.layers.0.attn.q_conv1d.weight", Shape{8, 1, 3});
  has("gla", "model.layers.0.attn.g_norm_swish_gate.weight", Shape{4});
  has("gla", "model.layers.0.attn.gk_proj.1.bias", Shape{4});
  has("gla", "model.layers.0.attn.k_conv1d.weight", Shape{4, 1, 4});
  has("retnet", "model.layers.1.attn.v_proj.weight", Shape{16, 16});
  has("hgrn", "model.lower_bounds", Shape{2, 16});
  has("hgrn", "model.layers.0.attn.f_conv1d.weight", Shape{16, 1, 4});
  has("mamba2", "backbone.layers.0.mixer.in_proj.weight", Shape{2 * 32 + 2 * 2 * 6 + 8, 16});
  has("mamba2", "backbone.layers.0.mixer.D", Shape{32});
  has("mamba2", "backbone.norm_f.weight", Shape{16});
  has("rwkv6", "model.layers.0.pre_norm.bias", Shape{16});
  has("rwkv6", "model.layers.1.ffn.key.linear.weight", Shape{64, 16});
  has("rwkv6", "model.layers.0.attn.x_proj.2.weight", Shape{16, 15});
  has("neural_attention_search_linear_attn_gdn", "model.layers.0.attn.o_norm.weight2", Shape{8});
  has("neural_attention_search_linear_attn_gdn", "model.layers.0.attn.nats_layer.weight",
      Shape{4, 16});
  has("neural_attention_search_linear_attn_gdn",
      "model.layers.0.attn.nats_out_weights_layer.weight", Shape{8, 16});
  has("neural_attention_search_linear_attn_gdn", "model.layers.0.attn.q_conv1d.bias", Shape{16});
  has("llama", "model.layers.0.self_attn.o_proj.bias", Shape{16});
  has("llama", "lm_head.weight", Shape{10, 16});
  has("qwen3", "model.layers.0.self_attn.q_norm.weight", Shape{6});
  has("gemma3_text", "model.layers.0.pre_feedforward_layernorm.weight", Shape{16});
}

TEST(Checkpoint, WeightsAreTheFilesBytes) {
  const std::string& config = SmallConfigs().at("llama");
  const TemporaryFolder folder("weights");
  folder.Write("config.json", config);
  Tensors tensors;
  tensors.shapes = TensorsOf(config).shapes;
  folder.Write("model.safetensors", tensors.Bytes());
  const Checkpoint checkpoint(folder.path());
  // "lm_head.weight" is the first name, so its values count from 0.
  const WeightView head = checkpoint.Weight("head.weight");
  EXPECT_EQ(head.dtype, core::DType::kFloat32);
  EXPECT_EQ(head.row_stride_bytes, 64);
  EXPECT_EQ(ValueAt(head, 0, 0), 0);
  EXPECT_EQ(ValueAt(head, 2, 3), 35);
  EXPECT_EQ(ValueAt(checkpoint.Weight("embeddings.weight"), 0, 0), 160);
  EXPECT_FALSE(checkpoint.Has("layers.2.mixer.q_proj.weight"));
  EXPECT_EQ(checkpoint.Fingerprint(), core::Sha256Hex(config + tensors.Bytes()));
  // Views outlive a move of the checkpoint.
  Checkpoint moved = Checkpoint(folder.path());
  const WeightView view = moved.Weight("head.weight");
  const Checkpoint target = std::move(moved);
  EXPECT_EQ(ValueAt(view, 1, 1), 17);
}

/// gpt_neox as its files hold it: 2 heads of 8, so 48 fused rows.
Tensors NeoxTensors() {
  Tensors tensors;
  for (const char* kind : {"weight", "bias"}) {
    const bool weight = std::string(kind) == "weight";
    const auto shape = [&](int64_t out, int64_t in) {
      return weight ? std::vector<int64_t>{out, in} : std::vector<int64_t>{out};
    };
    for (const int layer : {0, 1}) {
      const std::string prefix = "gpt_neox.layers." + std::to_string(layer) + ".";
      tensors.shapes[prefix + "input_layernorm." + kind] = {16};
      tensors.shapes[prefix + "post_attention_layernorm." + kind] = {16};
      tensors.shapes[prefix + "attention.query_key_value." + kind] = shape(48, 16);
      tensors.shapes[prefix + "attention.dense." + kind] = shape(16, 16);
      tensors.shapes[prefix + "mlp.dense_h_to_4h." + kind] = shape(24, 16);
      tensors.shapes[prefix + "mlp.dense_4h_to_h." + kind] = shape(16, 24);
    }
    tensors.shapes[std::string("gpt_neox.final_layer_norm.") + kind] = {16};
  }
  tensors.shapes["gpt_neox.embed_in.weight"] = {10, 16};
  tensors.shapes["embed_out.weight"] = {10, 16};
  tensors.shapes["gpt_neox.layers.0.attention.masked_bias"] = {};
  tensors.shapes["gpt_neox.layers.0.attention.bias"] = {1, 1, 4, 4};
  tensors.shapes["gpt_neox.layers.0.attention.rotary_emb.inv_freq"] = {1};
  return tensors;
}

TEST(Checkpoint, GptNeoxRowsAreTakenApartHeadByHead) {
  const TemporaryFolder folder("neox");
  folder.Write("config.json", SmallConfigs().at("gpt_neox"));
  folder.Write("model.safetensors", NeoxTensors().Bytes());
  const Checkpoint checkpoint(folder.path());
  const WeightView q = checkpoint.Weight("layers.0.mixer.q_proj.weight");
  const WeightView k = checkpoint.Weight("layers.0.mixer.k_proj.weight");
  const WeightView v = checkpoint.Weight("layers.0.mixer.v_proj.weight");
  EXPECT_EQ(q.shape, (std::vector<int64_t>{16, 16}));
  // Fused rows: head 0 q (8), k (8), v (8), then head 1.
  const float first = ValueAt(q, 0, 0);
  for (int64_t row = 0; row < 16; ++row) {
    const int64_t fused = (row / 8) * 24 + row % 8;
    for (int64_t column : {0, 15}) {
      EXPECT_EQ(ValueAt(q, row, column) - first, static_cast<float>(fused * 16 + column));
      EXPECT_EQ(ValueAt(k, row, column) - first, static_cast<float>((fused + 8) * 16 + column));
      EXPECT_EQ(ValueAt(v, row, column) - first, static_cast<float>((fused + 16) * 16 + column));
    }
  }
  const WeightView bias = checkpoint.Weight("layers.1.mixer.v_proj.bias");
  EXPECT_EQ(bias.shape, (std::vector<int64_t>{16}));
  EXPECT_EQ(ValueAt(bias, 8, 0) - ValueAt(bias, 0, 0), 24);

  Tensors wrong = NeoxTensors();
  wrong.shapes["gpt_neox.layers.0.attention.query_key_value.weight"] = {47, 16};
  EXPECT_THAT(ErrorOf(SmallConfigs().at("gpt_neox"), wrong),
              HasSubstr("query_key_value.weight is [47, 16], expected [48, 16]"));
  const ModelSpec spec = ParseModelSpec(SmallConfigs().at("gpt_neox"), "config");
  EXPECT_THROW(TensorName(spec, "layers.0.mixer.q_proj.weight"), Error);
  EXPECT_EQ(TensorName(spec, "layers.0.mixer.o_proj.bias"),
            "gpt_neox.layers.0.attention.dense.bias");
}

TEST(Checkpoint, OldFusedGateAndUpAreTakenApart) {
  const std::string& config = SmallConfigs().at("retnet");
  Tensors tensors = TensorsOf(config);
  const std::string gate = "model.layers.0.mlp.gate_proj.weight";
  tensors.shapes.erase("model.layers.0.mlp.up_proj.weight");
  tensors.shapes[gate] = {512, 16};
  const TemporaryFolder folder("gate");
  folder.Write("config.json", config);
  folder.Write("model.safetensors", tensors.Bytes());
  const Checkpoint checkpoint(folder.path());
  const WeightView first = checkpoint.Weight("layers.0.mlp.gate_proj.weight");
  const WeightView last = checkpoint.Weight("layers.0.mlp.up_proj.weight");
  EXPECT_EQ(first.shape, (std::vector<int64_t>{256, 16}));
  EXPECT_EQ(last.shape, (std::vector<int64_t>{256, 16}));
  EXPECT_EQ(ValueAt(last, 0, 0) - ValueAt(first, 0, 0), 256 * 16);
}

TEST(Checkpoint, OtherNamesAndUnneededTensorsAreAccepted) {
  const std::string& gla = SmallConfigs().at("gla");
  Tensors plain = TensorsOf(gla);  // fuse_norm=false renames the output norm
  plain.shapes.erase("model.layers.0.attn.g_norm_swish_gate.weight");
  plain.shapes["model.layers.0.attn.g_norm.weight"] = {4};
  EXPECT_EQ(ErrorOf(gla, plain), "");

  const std::string& mamba = SmallConfigs().at("mamba2");
  Tensors old = TensorsOf(mamba);
  old.shapes.erase("backbone.embeddings.weight");
  old.shapes["backbone.embedding.weight"] = {10, 16};
  EXPECT_EQ(ErrorOf(mamba, old), "");

  const std::string& gemma = SmallConfigs().at("gemma3");
  for (const char* prefix : {"model.language_model.", "language_model.model."}) {
    Tensors wrapped;
    for (const auto& [name, shape] : TensorsOf(gemma).shapes) {
      wrapped.shapes[prefix + name.substr(std::string("model.").size())] = shape;
    }
    wrapped.shapes["vision_tower.x"] = {1};
    wrapped.shapes["multi_modal_projector.y"] = {1};
    EXPECT_EQ(ErrorOf(gemma, wrapped), "");
    wrapped.shapes["language_model.lm_head.weight"] = {10, 16};  // a copy, though tied
    EXPECT_EQ(ErrorOf(gemma, wrapped), "");
  }
}

TEST(Checkpoint, AllDifferencesAreInOneError) {
  const std::string& config = SmallConfigs().at("transformer");
  Tensors tensors = TensorsOf(config);
  tensors.shapes.erase("model.norm.weight");
  tensors.shapes.erase("model.layers.0.attn.q_norm.weight");
  tensors.shapes["model.layers.1.mlp.down_proj.weight"] = {16, 25};
  tensors.shapes["model.layers.1.attn.q_proj.weight"] = {256};
  tensors.shapes["model.layers.2.attn.q_proj.weight"] = {16, 16};
  tensors.shapes["model.layers.01.attn_norm.weight"] = {16};
  tensors.shapes["model.layers.1.attn.gate.weight"] = {3};
  tensors.shapes["model.layers.-1.attn_norm.weight"] = {16};
  tensors.shapes["model.layers..attn_norm.weight"] = {16};
  tensors.shapes["lora\n.weight"] = {1};
  tensors.dtypes["model.layers.0.mlp.up_proj.weight"] = core::DType::kInt32;
  tensors.dtypes["model.embeddings.weight"] = core::DType::kFloat64;
  const std::string text = ErrorOf(config, tensors);
  EXPECT_THAT(text, HasSubstr("the weights don't fit config.json (family transformer), "
                              "12 problems:"));
  for (const char* line :
       {"missing: model.norm.weight [16]", "missing: model.layers.0.attn.q_norm.weight [4]",
        "model.layers.1.mlp.down_proj.weight is [16, 25], expected [16, 24]",
        "model.layers.1.attn.q_proj.weight is [256], expected [16, 16]",
        "unexpected: model.layers.2.attn.q_proj.weight [16, 16]",
        "unexpected: model.layers.01.attn_norm.weight [16]",
        "unexpected: model.layers.1.attn.gate.weight [3]",
        "unexpected: model.layers.-1.attn_norm.weight [16]",
        "unexpected: model.layers..attn_norm.weight [16]", "unexpected: lora?.weight [1]",
        "model.layers.0.mlp.up_proj.weight is I32, expected F32, F16 or BF16",
        "model.embeddings.weight is F64, expected F32, F16 or BF16"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

TEST(Checkpoint, TheSameWeightUnderTwoNamesIsAnError) {
  const std::string& config = SmallConfigs().at("mamba2");
  Tensors tensors = TensorsOf(config);
  tensors.shapes["backbone.embedding.weight"] = {10, 16};
  EXPECT_THAT(ErrorOf(config, tensors),
              HasSubstr("backbone.embedding.weight and backbone.embeddings.weight are the same"));
}

TEST(Checkpoint, ManyProblemsAreCutShort) {
  Tensors tensors = TensorsOf(SmallConfigs().at("transformer"));
  for (int i = 0; i < 300; ++i) tensors.shapes["x" + std::to_string(i)] = {1};
  EXPECT_THAT(ErrorOf(SmallConfigs().at("transformer"), tensors), HasSubstr("and 100 more"));
}

TEST(Checkpoint, FoldersThatAreNone) {
  const auto error = [](const std::filesystem::path& path) -> std::string {
    try {
      Checkpoint{path};
      return "";
    } catch (const Error& failure) {
      EXPECT_EQ(failure.code(), ErrorCode::kModel);
      return failure.what();
    }
  };
  const TemporaryFolder folder("none");
  EXPECT_THAT(error(folder.path() / "missing"), HasSubstr("not a folder"));
  EXPECT_THAT(error(folder.path()), HasSubstr("config.json: No such file"));
  folder.Write("config.json", SmallConfigs().at("llama"));
  EXPECT_THAT(error(folder.path()), HasSubstr("neither model.safetensors nor"));
  EXPECT_THAT(error(folder.path() / "config.json"), HasSubstr("not a folder"));
  std::filesystem::remove(folder.path() / "config.json");
  std::filesystem::create_symlink("/etc/hostname", folder.path() / "config.json");
  EXPECT_THAT(error(folder.path()), HasSubstr("outside of the model's folder"));
}

}  // namespace
}  // namespace natsl::model_adapters
