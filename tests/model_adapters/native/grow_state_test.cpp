// Sessions on the CPU that are lengthened without computing.
#include "tests/model_adapters/native/grown_state.h"

namespace natsl::model_adapters::native {
namespace {

class GrowState : public testing::TestWithParam<TinyModel> {};

TEST_P(GrowState, IsAsLargeAsAComputedStateAndGoesOn) {
  ExpectGrowsAsIfComputed(*OpenTiny(GetParam(), KeepingEveryChunk()));
}

TEST_P(GrowState, RefusesWhatItCantDo) { ExpectGrowsByWholePagesAlone(*OpenTiny(GetParam())); }

INSTANTIATE_TEST_SUITE_P(All, GrowState, testing::ValuesIn(TinyModels()),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace natsl::model_adapters::native
