// Logits against the reference implementations' outputs, in float32 and bfloat16.
#include <cstring>
#include <filesystem>
#include <map>

#include "model_adapters/native/state.h"
#include "model_adapters/safetensors/reader.h"
#include "tests/model_adapters/native/cuda/cuda_tests.h"

namespace natsl::model_adapters::native::cuda {
namespace {

constexpr double kTolerance = 1e-3;

std::vector<float> Floats(const SafetensorsFile& file, const std::string& name) {
  const TensorView& tensor = file.At(name);
  std::vector<float> values(static_cast<size_t>(tensor.elements()));
  std::memcpy(values.data(), tensor.data, values.size() * sizeof(float));
  return values;
}

std::vector<TokenId> Ids(const SafetensorsFile& file, const std::string& name) {
  const TensorView& tensor = file.At(name);
  std::vector<TokenId> ids;
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    if (tensor.dtype == core::DType::kInt64) {
      int64_t id;
      std::memcpy(&id, tensor.data + i * 8, 8);
      ids.push_back(static_cast<TokenId>(id));
    } else {
      int32_t id;
      std::memcpy(&id, tensor.data + i * 4, 4);
      ids.push_back(id);
    }
  }
  return ids;
}

class CudaGolden : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    NATSL_NEEDS_GPU();
    folder_ = std::filesystem::path(NATSL_SOURCE_DIR) / "../shared/golden" / GetParam();
    if (!std::filesystem::exists(folder_ / "golden.safetensors")) {
      GTEST_SKIP() << folder_ << " is not there";
    }
  }
  std::filesystem::path folder_;
};

TEST_P(CudaGolden, Float32LogitsAndHiddenStates) {
  const auto model = OpenOnDevice(folder_.string(), OnDevice());
  const SafetensorsFile golden(folder_ / "golden.safetensors");
  int checked = 0;
  for (const auto& [name, tensor] : golden.tensors()) {
    if (!name.starts_with("input_ids.")) continue;
    const std::string length = name.substr(std::strlen("input_ids."));
    const bool hidden = golden.tensors().count("hidden_states." + length) > 0;
    const Trace trace = model->Forward(Ids(golden, name), hidden, {});
    if (hidden) {
      const std::vector<float> expected = Floats(golden, "hidden_states." + length);
      ASSERT_EQ(trace.hidden_states.size(), expected.size());
      const auto layer = static_cast<size_t>(trace.tokens * trace.hidden);
      for (size_t i = 0; i < expected.size(); i += layer) {
        ASSERT_LE(Compare(std::span(trace.hidden_states).subspan(i, layer),
                          std::span(expected).subspan(i, layer))
                      .largest,
                  kTolerance)
            << "hidden_states." << length << ", layer " << i / layer;
      }
    }
    const std::vector<float> expected = Floats(golden, "logits." + length);
    ASSERT_EQ(trace.logits.size(), expected.size());
    ASSERT_LE(Compare(trace.logits, expected).largest, kTolerance) << "logits." << length;
    ++checked;
  }
  EXPECT_GE(checked, 3);
}

// bfloat16 differs by its rounding; NAtS-L's chunk choices are those of float32, and those that
// bfloat16 would have chosen otherwise are counted. The figures go to the test's report.
TEST_P(CudaGolden, BFloat16StaysNearFloat32) {
  class Choices : public ChunkChoices {
   public:
    void OnChunk(int64_t layer, int64_t, int64_t chunk, std::vector<uint8_t>& softmax) override {
      auto& kept = chosen[{layer, chunk}];
      if (replay) {
        for (size_t head = 0; head < softmax.size(); ++head) {
          flips += softmax[head] != kept[head] ? 1 : 0;
          ++choices;
        }
        softmax = kept;
      } else {
        kept = softmax;
      }
    }
    std::map<std::pair<int64_t, int64_t>, std::vector<uint8_t>> chosen;
    bool replay = false;
    int flips = 0, choices = 0;
  } choices;
  const SafetensorsFile golden(folder_ / "golden.safetensors");
  std::string longest;
  for (const auto& [name, tensor] : golden.tensors()) {
    if (!name.starts_with("input_ids.")) continue;
    if (longest.empty() || tensor.elements() > golden.At(longest).elements()) longest = name;
  }
  const std::vector<TokenId> ids = Ids(golden, longest);
  std::vector<float> logits[2];
  for (const bool rounded : {false, true}) {
    const auto model = OpenOnDevice(folder_.string(), OnDevice(rounded ? "bfloat16" : "float32"));
    choices.replay = rounded;
    model->SetChunkChoices(&choices);
    logits[rounded ? 1 : 0] = model->Forward(ids, false, {}).logits;
  }
  const Differences differences = Compare(logits[0], logits[1]);
  std::printf("bfloat16 %-24s largest %.4f mean %.5f flips %d of %d\n", GetParam(),
              differences.largest, differences.mean, choices.flips, choices.choices);
  // Logits have unit variance: 8 bits of mantissa through a few layers.
  EXPECT_LE(differences.mean, 0.02);
  EXPECT_LE(differences.largest, 0.5);
  EXPECT_LE(choices.flips * 10, choices.choices);
}

TEST_P(CudaGolden, StepsEqualThePass) {
  const auto model = OpenOnDevice(folder_.string(), OnDevice());
  const SafetensorsFile golden(folder_ / "golden.safetensors");
  const std::vector<TokenId> ids = Ids(golden, "input_ids.200");
  const std::vector<float> expected = Floats(golden, "logits.200");
  std::vector<int64_t> pieces = {100};
  pieces.resize(101, 1);
  const Trace trace = model->Forward(ids, false, pieces);
  EXPECT_LE(Compare(trace.logits, expected).largest, kTolerance);
}

INSTANTIATE_TEST_SUITE_P(All, CudaGolden,
                         testing::Values("transformer", "transformer_gqa_qknorm", "llama",
                                         "llama3_rope", "qwen3", "mistral", "gated_deltanet",
                                         "gated_deltanet_hybrid", "natsl_all", "natsl_hybrid",
                                         "natsl_rope_nodecay", "delta_net", "gla", "retnet", "hgrn",
                                         "hgrn2", "hgrn2_hybrid", "mamba2", "mamba2_hf", "rwkv6",
                                         "gemma3", "gpt_neox", "smollm3"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace natsl::model_adapters::native::cuda
