// Weights that are no numbers, on the CPU: requests fail, none is scored.
#include "tests/model_adapters/native/broken_weights.h"

namespace natsl::model_adapters::native {
namespace {

class BrokenWeights : public testing::TestWithParam<TinyModel> {};

TEST_P(BrokenWeights, FailEveryRequest) { ExpectEveryWeightToMatter(GetParam()); }

INSTANTIATE_TEST_SUITE_P(All, BrokenWeights, testing::ValuesIn(ModelsThatCanBeWritten()),
                         [](const auto& test) { return std::string(test.param.name); });

class BrokenIds : public testing::TestWithParam<TinyModel> {};

TEST_P(BrokenIds, FailTheirReadersAlone) { ExpectBrokenIdsToFailTheirReadersAlone(GetParam()); }

INSTANTIATE_TEST_SUITE_P(All, BrokenIds, testing::ValuesIn(ModelsWithAHead()),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace natsl::model_adapters::native
