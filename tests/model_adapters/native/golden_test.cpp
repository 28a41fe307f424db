// Logits and hidden states against the reference implementations' outputs.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>

#include "model_adapters/native/native_model.h"
#include "model_adapters/safetensors/reader.h"
#include "tests/model_adapters/native/tiny_models.h"

namespace natsl::model_adapters::native {
namespace {

constexpr double kTolerance = 1e-4;

std::filesystem::path GoldenRoot() {
  return std::filesystem::path(NATSL_SOURCE_DIR) / "../shared/golden";
}

std::span<const float> Floats(const SafetensorsFile& file, const std::string& name) {
  const TensorView& tensor = file.At(name);
  return {reinterpret_cast<const float*>(tensor.data), static_cast<size_t>(tensor.elements())};
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

std::unique_ptr<NativeModel> Open(const std::filesystem::path& folder) {
  OpenOptions options;
  options.threads = 2;
  return OpenModel(folder.string(), options);
}

// Fails at the first element that deviates: by layer, then by position.
void CheckHidden(const Trace& trace, std::span<const float> expected, const std::string& tensor) {
  ASSERT_EQ(trace.hidden_states.size(), expected.size()) << tensor;
  const int64_t row = trace.hidden, layer = trace.tokens * trace.hidden;
  for (size_t i = 0; i < expected.size(); ++i) {
    const double difference =
        std::abs(static_cast<double>(trace.hidden_states[i]) - static_cast<double>(expected[i]));
    ASSERT_LE(difference, kTolerance)
        << tensor << " deviates first at layer " << static_cast<int64_t>(i) / layer << ", position "
        << static_cast<int64_t>(i) % layer / row << ", channel " << static_cast<int64_t>(i) % row
        << ": " << trace.hidden_states[i] << ", expected " << expected[i];
  }
}

void CheckLogits(std::span<const float> actual, std::span<const float> expected, int64_t vocabulary,
                 const std::string& tensor) {
  ASSERT_EQ(actual.size(), expected.size()) << tensor;
  for (size_t i = 0; i < expected.size(); ++i) {
    const double difference =
        std::abs(static_cast<double>(actual[i]) - static_cast<double>(expected[i]));
    ASSERT_LE(difference, kTolerance)
        << tensor << " deviates first at position " << static_cast<int64_t>(i) / vocabulary
        << ", token " << static_cast<int64_t>(i) % vocabulary << ": " << actual[i] << ", expected "
        << expected[i];
  }
}

class Golden : public testing::TestWithParam<const char*> {};
class GoldenGeneration : public Golden {};

TEST_P(Golden, LogitsAndHiddenStates) {
  const auto folder = GoldenRoot() / GetParam();
  if (!std::filesystem::exists(folder / "golden.safetensors")) {
    GTEST_SKIP() << folder << " is not there";
  }
  const auto model = Open(folder);
  const SafetensorsFile golden(folder / "golden.safetensors");
  int checked = 0;
  for (const auto& [name, tensor] : golden.tensors()) {
    if (!name.starts_with("input_ids.")) continue;
    const std::string length = name.substr(std::strlen("input_ids."));
    const bool hidden = golden.tensors().count("hidden_states." + length) > 0;
    const Trace trace = model->Forward(Ids(golden, name), hidden, {});
    if (hidden) {
      CheckHidden(trace, Floats(golden, "hidden_states." + length), "hidden_states." + length);
    }
    CheckLogits(trace.logits, Floats(golden, "logits." + length), model->Info().vocabulary,
                "logits." + length);
    ++checked;
  }
  EXPECT_GE(checked, 3);
}

TEST_P(GoldenGeneration, EqualsReference) {
  const auto folder = GoldenRoot() / GetParam();
  if (!std::filesystem::exists(folder / "golden.safetensors")) {
    GTEST_SKIP() << folder << " is not there";
  }
  const SafetensorsFile golden(folder / "golden.safetensors");
  const auto model = Open(folder);
  const std::vector<TokenId> ids = Ids(golden, "generated_ids.13");
  TokenGenerateRequest request;
  request.prompt.assign(ids.begin(), ids.begin() + 13);
  request.max_new_tokens = 20;
  TokenGeneration result;
  CountingListener listener;
  model->Generate(std::span(&request, 1), std::span(&result, 1), listener);
  EXPECT_EQ(result.ids, std::vector<TokenId>(ids.begin() + 13, ids.end()));

  // The same through steps, logits compared.
  const std::span<const float> expected = Floats(golden, "generated_logits.13");
  const auto vocabulary = static_cast<size_t>(model->Info().vocabulary);
  std::vector<int64_t> pieces = {13};
  pieces.resize(20, 1);
  const Trace trace = model->Forward(std::span(ids).first(32), false, pieces);
  CheckLogits(std::span(trace.logits).subspan(12 * vocabulary), expected, model->Info().vocabulary,
              "generated_logits.13");
}

INSTANTIATE_TEST_SUITE_P(All, Golden,
                         testing::Values("transformer", "transformer_gqa_qknorm", "llama",
                                         "llama3_rope", "qwen3", "mistral", "gated_deltanet",
                                         "gated_deltanet_hybrid", "natsl_all", "natsl_hybrid",
                                         "natsl_rope_nodecay", "delta_net", "gla", "retnet", "hgrn",
                                         "hgrn2", "hgrn2_hybrid", "mamba2", "mamba2_hf", "rwkv6",
                                         "gemma3", "gpt_neox", "smollm3"),
                         [](const auto& info) { return std::string(info.param); });
INSTANTIATE_TEST_SUITE_P(Transformers, GoldenGeneration,
                         testing::Values("llama", "llama3_rope", "qwen3", "mistral", "mamba2_hf",
                                         "gemma3", "gpt_neox", "smollm3"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace natsl::model_adapters::native
