// The table of kernels: sorted, unique, complete entries.
#include "kernels/registry.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace natsl::kernels {
namespace {

TEST(KernelRegistry, EntriesAreSortedAndComplete) {
  const std::vector<KernelEntry>& kernels = Kernels();
  ASSERT_FALSE(kernels.empty());
  for (size_t i = 0; i < kernels.size(); ++i) {
    const KernelEntry& entry = kernels[i];
    if (i > 0) {
      EXPECT_LT(kernels[i - 1].name, entry.name);
    }
    EXPECT_FALSE(entry.summary.empty()) << entry.name;
    EXPECT_NE(std::count(entry.back_ends.begin(), entry.back_ends.end(), "cpu"), 0) << entry.name;
    for (const std::string_view back_end : entry.back_ends) {
      EXPECT_TRUE(back_end == "reference" || back_end == "cpu" || back_end == "cuda") << back_end;
    }
  }
}

}  // namespace
}  // namespace natsl::kernels
