// Weights that are no numbers, on the device: requests fail as they do on the CPU.
#include "tests/model_adapters/native/broken_weights.h"
#include "tests/model_adapters/native/cuda/cuda_tests.h"

namespace natsl::model_adapters::native::cuda {
namespace {

class CudaBrokenWeights : public testing::TestWithParam<TinyModel> {
 protected:
  void SetUp() override { NATSL_NEEDS_GPU(); }
};

TEST_P(CudaBrokenWeights, FailEveryRequest) {
  ExpectEveryWeightToMatter(GetParam(), OnDevice(), &OpenOnDevice);
}

TEST_P(CudaBrokenWeights, FailEveryRequestInBFloat16) {
  ExpectEveryWeightToMatter(GetParam(), OnDevice("bfloat16"), &OpenOnDevice);
}

INSTANTIATE_TEST_SUITE_P(All, CudaBrokenWeights, testing::ValuesIn(ModelsThatCanBeWritten()),
                         [](const auto& test) { return std::string(test.param.name); });

class CudaBrokenIds : public testing::TestWithParam<TinyModel> {
 protected:
  void SetUp() override { NATSL_NEEDS_GPU(); }
};

TEST_P(CudaBrokenIds, FailTheirReadersAlone) {
  ExpectBrokenIdsToFailTheirReadersAlone(GetParam(), OnDevice(), &OpenOnDevice);
}

INSTANTIATE_TEST_SUITE_P(All, CudaBrokenIds, testing::ValuesIn(ModelsWithAHead()),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace natsl::model_adapters::native::cuda
