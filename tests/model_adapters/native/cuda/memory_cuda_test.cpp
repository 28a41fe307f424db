// Memory on the device: states lengthened without computing them, passes halved where it is short.
#include <cmath>

#include "core/error.h"
#include "tests/model_adapters/native/cuda/cuda_tests.h"
#include "tests/model_adapters/native/grown_state.h"

namespace natsl::model_adapters::native::cuda {
namespace {

class CudaGrow : public testing::TestWithParam<TinyModel> {
 protected:
  void SetUp() override { NATSL_NEEDS_GPU(); }
};

TEST_P(CudaGrow, IsAsLargeAsAComputedStateAndGoesOn) {
  ExpectGrowsAsIfComputed(*OpenTinyOnDevice(GetParam(), KeepingEveryChunk(OnDevice())));
}

TEST_P(CudaGrow, RefusesWhatItCantDo) {
  ExpectGrowsByWholePagesAlone(*OpenTinyOnDevice(GetParam()));
}

// Prompts of whole pages fill the pool. A batch's first step makes its graph, which takes pages
// too, before it takes those of its own.
TEST_P(CudaGrow, AFirstStepHasItsPages) {
  const auto cpu = OpenTiny(GetParam(), KeepingEveryChunk());
  for (const int64_t batch : {1, 3}) {
    const auto model = OpenTinyOnDevice(GetParam(), KeepingEveryChunk(OnDevice()));
    const auto expected = cpu->NewSession(batch), session = model->NewSession(batch);
    for (Session* const each : {expected.get(), session.get()}) {
      each->Prefill(RandomIds(batch * 64, 30));
      each->Step(RandomIds(batch, 31));
    }
    EXPECT_LE(Compare(session->NextLogProbs(), expected->NextLogProbs()).largest, 2e-4) << batch;
  }
}

INSTANTIATE_TEST_SUITE_P(All, CudaGrow, testing::ValuesIn(TinyModels()),
                         [](const auto& test) { return std::string(test.param.name); });

class CudaWindow : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { NATSL_NEEDS_GPU(); }
};

// Pages outside every window go back: as much is held as on the CPU, forks keep what they see.
TEST_P(CudaWindow, HoldsWhatTheCpuHolds) {
  const auto cpu = OpenTiny(Tiny(GetParam()));
  const auto model = OpenTinyOnDevice(Tiny(GetParam()));
  const std::vector<TokenId> ids = RandomIds(2 * 700, 21);
  const auto expected = cpu->NewSession(2), session = model->NewSession(2);
  const auto expect_same = [](Session& a, Session& b) {
    EXPECT_EQ(a.StateBytes().kv, b.StateBytes().kv);
    EXPECT_LE(Compare(a.NextLogProbs(), b.NextLogProbs()).largest, 2e-4);
  };
  expected->Prefill(ids);
  session->Prefill(ids);
  expect_same(*session, *expected);
  const auto expected_fork = expected->Fork(), fork = session->Fork();
  // More pages than a list's first look covers, and over the ends of several.
  for (const auto& pair : {std::pair(&session, &expected), std::pair(&fork, &expected_fork)}) {
    const std::vector<TokenId> more = RandomIds(2 * 9000, pair.first == &fork ? 1 : 2);
    (*pair.first)->Prefill(more);
    (*pair.second)->Prefill(more);
    expect_same(**pair.first, **pair.second);
    EXPECT_EQ((*pair.first)->Decode(150), (*pair.second)->Decode(150));
    expect_same(**pair.first, **pair.second);
  }
  // Grown by far more pages than the window has.
  const int64_t length = session->length() + 64 * 400;
  ASSERT_TRUE(session->GrowSynthetic(length));
  ASSERT_TRUE(expected->GrowSynthetic(length));
  EXPECT_EQ(session->StateBytes().kv, expected->StateBytes().kv);
  session->Decode(70);
  expected->Decode(70);
  EXPECT_EQ(session->StateBytes().kv, expected->StateBytes().kv);
  for (const float log_prob : session->NextLogProbs()) ASSERT_TRUE(std::isfinite(log_prob));
}

INSTANTIATE_TEST_SUITE_P(Models, CudaWindow,
                         testing::Values("mistral_window", "transformer_gqa_window_bias_qknorm",
                                         "gemma3", "gated_deltanet_hybrid"),
                         [](const auto& test) { return std::string(test.param); });

class CudaMemory : public testing::Test {
 protected:
  void SetUp() override { NATSL_NEEDS_GPU(); }
};

// The model's memory is limited as long as this lives.
class Limit {
 public:
  Limit(NativeModel& model, int64_t bytes) : model_(model) { model.LimitMemory(bytes); }
  ~Limit() {
    try {
      model_.LimitMemory(int64_t{1} << 50);
    } catch (const std::exception& error) {
      ADD_FAILURE() << "later tests have less memory: " << error.what();
    }
  }
  Limit(const Limit&) = delete;
  Limit& operator=(const Limit&) = delete;

 private:
  NativeModel& model_;
};

std::string SettingOf(const TokenModel& model, const std::string& name) {
  for (const auto& [key, value] : model.Info().settings) {
    if (key == name) return value;
  }
  return "";
}

// Long sequences in one batch, and one sequence longer than a pass can be.
TEST_F(CudaMemory, PassesAreHalvedWhereMemoryIsShort) {
  OpenOptions options = OnDevice();
  options.batch_tokens = 65536;
  const auto model = OpenTinyOnDevice(Tiny("gated_deltanet"), options);
  std::vector<TokenScoreRequest> requests;
  for (const int64_t length : {15000, 16000, 9000, 60000}) {
    requests.push_back({RandomIds(length, static_cast<uint64_t>(length)), length - 20});
  }
  std::vector<TokenScore> expected(requests.size()), scores(requests.size());
  CountingListener listener;
  model->Score(requests, expected, listener);
  EXPECT_EQ(SettingOf(*model, "halved_passes"), "");
  {
    const Limit limit(*model, int64_t{256} << 20);
    model->Score(requests, scores, listener);
  }
  EXPECT_NE(SettingOf(*model, "halved_passes"), "");
  EXPECT_NE(SettingOf(*model, "halved_pass_tokens"), "");
  for (size_t i = 0; i < requests.size(); ++i) {
    ASSERT_EQ(scores[i].log_probs.size(), expected[i].log_probs.size());
    EXPECT_LE(Compare(scores[i].log_probs, expected[i].log_probs).largest, 2e-4) << i;
  }
}

// A model whose layers all have a window needs no more memory for a longer text.
TEST_F(CudaMemory, StaysWhereEveryLayerHasAWindow) {
  const auto model = OpenTinyOnDevice(Tiny("mistral_window"));
  const auto session = model->NewSession(1);
  const auto feed = [&](int64_t times) {
    for (int64_t i = 0; i < times; ++i) session->Prefill(RandomIds(1000, 3));
    session->Synchronize();
    return model->Memory()->allocated_bytes;
  };
  const int64_t before = feed(20), after = feed(100);
  // Lists' entries grow, a MiB or two; the 1,562 pages themselves would have 36 MiB.
  EXPECT_LT(after - before, int64_t{4} << 20);
  EXPECT_EQ(session->length(), 120000);
}

TEST_F(CudaMemory, ASessionTellsItsPasses) {
  OpenOptions options = OnDevice();
  options.batch_tokens = 512;
  const auto model = OpenTinyOnDevice(Tiny("gated_deltanet"), options);
  const auto session = model->NewSession(2);
  session->Prefill(RandomIds(2 * 40000, 1));
  EXPECT_EQ(session->longest_pass(), 80000);  // not cut at batch_tokens
  session->Decode(3);
  EXPECT_EQ(session->Fork()->longest_pass(), 80000);
  const auto cut = model->NewSession(1);
  {
    const Limit limit(*model, int64_t{256} << 20);
    cut->Prefill(RandomIds(200000, 1));
  }
  EXPECT_GT(cut->longest_pass(), 0);
  EXPECT_LT(cut->longest_pass(), 200000);
}

TEST_F(CudaMemory, ADeviceHasRates) {
  const auto model = OpenTinyOnDevice(Tiny("gated_deltanet"), OnDevice("bfloat16"));
  const auto rates = model->MeasureRates();
  ASSERT_TRUE(rates.has_value());
  // From the smallest card that the kernels run on to any of the next years.
  EXPECT_GT(rates->flops_per_second, 1e13);
  EXPECT_LT(rates->flops_per_second, 1e16);
  EXPECT_GT(rates->bytes_per_second, 1e11);
  EXPECT_LT(rates->bytes_per_second, 1e14);
  const Limit limit(*model, int64_t{64} << 20);
  EXPECT_FALSE(model->MeasureRates().has_value());
}

TEST_F(CudaMemory, TooLittleForAnyPassIsSaid) {
  const auto model = OpenTinyOnDevice(Tiny("transformer"));
  const TokenScoreRequest request = {RandomIds(30000, 1), 1};
  TokenScore score;
  CountingListener listener;
  std::string message;
  try {
    const Limit limit(*model, 0);
    model->Score(std::span(&request, 1), std::span(&score, 1), listener);
  } catch (const Error& error) {
    message = error.what();
  }
  EXPECT_NE(message.find("full"), std::string::npos) << message;
  // The model goes on once there is memory.
  model->Score(std::span(&request, 1), std::span(&score, 1), listener);
  EXPECT_EQ(score.log_probs.size(), 29999u);
}

}  // namespace
}  // namespace natsl::model_adapters::native::cuda
