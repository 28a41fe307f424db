// NAtS-L on the device: choices injected, counted and forced; memory that follows the choices.
#include <cmath>

#include "model_adapters/native/model_info.h"
#include "tests/model_adapters/native/cuda/cuda_tests.h"
#include "tests/model_adapters/native/nats_counts.h"

namespace natsl::model_adapters::native::cuda {
namespace {

class CudaNats : public testing::Test {
 protected:
  void SetUp() override { NATSL_NEEDS_GPU(); }
};

class CudaNatsCounts : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { NATSL_NEEDS_GPU(); }
};

TEST_P(CudaNatsCounts, ARequestsScoresTellWhatTheCpuChooses) {
  ExpectScoresTellTheirChoices(Tiny(GetParam()), OnDevice(), &OpenOnDevice);
}

TEST_P(CudaNatsCounts, AGenerationTellsWhatTheCpuChooses) {
  ExpectGenerationsTellTheirChoices(Tiny(GetParam()), OnDevice(), &OpenOnDevice);
}

TEST_P(CudaNatsCounts, AModelCountsWhatTheCpuCounts) {
  const auto cpu = OpenTiny(Tiny(GetParam())), model = OpenTinyOnDevice(Tiny(GetParam()));
  const std::vector<TokenId> ids = RandomIds(500, 6);
  const std::vector<int64_t> pieces = {63, 1, 1, 100, 335};
  for (NativeModel* const each : {cpu.get(), model.get()}) {
    each->Forward(ids, false, {});
    each->Forward(ids, false, pieces);
  }
  const std::vector<SoftmaxShare> expected = cpu->SoftmaxShares(), shares = model->SoftmaxShares();
  ASSERT_EQ(shares.size(), expected.size());
  for (size_t i = 0; i < shares.size(); ++i) {
    EXPECT_EQ(shares[i].layer, expected[i].layer);
    EXPECT_EQ(shares[i].head, expected[i].head);
    EXPECT_EQ(shares[i].softmax_chunks, expected[i].softmax_chunks) << i;
    EXPECT_EQ(shares[i].chunks, expected[i].chunks) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Natsl, CudaNatsCounts, kCountedModels,
                         [](const auto& test) { return std::string(test.param); });

class Alternating : public ChunkChoices {
 public:
  void OnChunk(int64_t layer, int64_t, int64_t chunk, std::vector<uint8_t>& softmax) override {
    for (size_t head = 0; head < softmax.size(); ++head) {
      softmax[head] = (static_cast<size_t>(layer + chunk) + head) % 2 == 0 ? 1 : 0;
    }
    ++asked;
  }
  int asked = 0;
};

TEST_F(CudaNats, InjectedChoicesGiveTheCpusLogits) {
  const auto cpu = OpenTiny(Tiny("natsl"));
  const auto model = OpenTinyOnDevice(Tiny("natsl"));
  const std::vector<TokenId> ids = RandomIds(300, 21);
  const std::vector<float> free = model->Forward(ids, false, {}).logits;
  Alternating on_cpu, on_device;
  cpu->SetChunkChoices(&on_cpu);
  model->SetChunkChoices(&on_device);
  const std::vector<float> expected = cpu->Forward(ids, false, {}).logits;
  EXPECT_LE(Compare(model->Forward(ids, false, {}).logits, expected).largest, 2e-4);
  EXPECT_EQ(on_device.asked, on_cpu.asked);
  const std::vector<int64_t> pieces = {10, 54, 1, 100, 135};
  EXPECT_LE(Compare(model->Forward(ids, false, pieces).logits, expected).largest, 2e-4);
  EXPECT_GT(Compare(free, expected).largest, 0.01) << "the injected choices changed nothing";
}

TEST_F(CudaNats, ForcedChoicesAreTheCpusAndKeepOnlyTheirChunks) {
  OpenOptions options = OnDevice();
  options.forced_softmax_share = 0.25;
  const auto model = OpenTinyOnDevice(Tiny("natsl"), options);
  const auto session = model->NewSession(1);
  constexpr int64_t kChunks = 200;
  session->Prefill(RandomIds(64 * kChunks, 3));
  int64_t kept = 0;
  for (const SoftmaxShare& share : model->SoftmaxShares()) {
    int64_t expected = 0;
    for (int64_t chunk = 0; chunk < kChunks; ++chunk) {
      expected += ForcedChoice(share.layer, chunk, share.head, 0.25) ? 1 : 0;
    }
    EXPECT_EQ(share.chunks, kChunks);
    EXPECT_EQ(share.softmax_chunks, expected) << share.layer << " " << share.head;
    kept += expected;
  }
  ASSERT_GT(kept, 0);
  const auto all = OpenTinyOnDevice(Tiny("natsl"), [] {
    OpenOptions every = OnDevice();
    every.forced_softmax_share = 1;
    return every;
  }());
  const auto full = all->NewSession(1);
  full->Prefill(RandomIds(64 * kChunks, 3));
  EXPECT_EQ(session->StateBytes().kv * 6 * kChunks, full->StateBytes().kv * kept)
      << "memory isn't that of the chunks that softmax attention kept";
}

TEST_F(CudaNats, DecodingAcrossChunksEqualsThePass) {
  for (const char* name : {"natsl"}) {
    OpenOptions options = OnDevice();
    options.forced_softmax_share = 0.5;
    const auto model = OpenTinyOnDevice(Tiny(name), options);
    const auto session = model->NewSession(1);
    std::vector<TokenId> ids = RandomIds(90, 2);
    session->Prefill(ids);
    const std::vector<TokenId> decoded = session->Decode(200);
    ids.insert(ids.end(), decoded.begin(), decoded.end());
    const auto whole = model->NewSession(1);
    whole->Prefill(ids);
    EXPECT_LE(Compare(session->NextLogProbs(), whole->NextLogProbs()).largest, 2e-4);
    EXPECT_EQ(session->StateBytes().kv, whole->StateBytes().kv);
  }
}

}  // namespace
}  // namespace natsl::model_adapters::native::cuda
