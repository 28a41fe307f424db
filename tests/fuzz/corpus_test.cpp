// Every fuzzed function over the committed inputs: seeds, and those that once found a fault. What
// leaves a function is a failure; under the asan preset so is what the sanitizers see.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "core/files.h"
#include "tests/fuzz/mutate.h"
#include "tests/fuzz/targets.h"
#include "tests/fuzz/targets/support.h"

namespace natsl::fuzz {
namespace {

namespace fs = std::filesystem;

const fs::path kFolder = fs::path(NATSL_SOURCE_DIR) / "tests" / "fuzz";

std::vector<fs::path> Inputs(const fs::path& folder) {
  std::vector<fs::path> files;
  if (!fs::exists(folder)) return files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

class FuzzCorpus : public ::testing::TestWithParam<Target> {};

TEST_P(FuzzCorpus, EveryInputIsReadOrRefused) {
  const std::vector<fs::path> seeds = Inputs(kFolder / "corpus" / GetParam().name);
  EXPECT_FALSE(seeds.empty()) << "no seed for " << GetParam().name;
  std::vector<fs::path> all = Inputs(kFolder / "findings" / GetParam().name);
  all.insert(all.end(), seeds.begin(), seeds.end());
  for (const fs::path& file : all) {
    SCOPED_TRACE(file.string());
    const std::string bytes = core::ReadFile(file, ErrorCode::kInternal);
    EXPECT_NO_THROW(GetParam().run(bytes));
    // Cut anywhere, it is refused as well.
    for (const size_t size : {size_t{0}, bytes.size() / 2, bytes.size() - bytes.size() / 8}) {
      EXPECT_NO_THROW(GetParam().run(std::string_view(bytes).substr(0, size)));
    }
  }
}

/// Other inputs each time with --gtest_random_seed=N; the same ones without.
TEST_P(FuzzCorpus, InputsALittleDifferentAreReadOrRefused) {
  constexpr int kMutations = 1000;
  std::vector<std::string> seeds;
  for (const char* kind : {"corpus", "findings"}) {
    for (const fs::path& file : Inputs(kFolder / kind / GetParam().name)) {
      seeds.push_back(core::ReadFile(file, ErrorCode::kInternal));
    }
  }
  ASSERT_FALSE(seeds.empty());
  std::mt19937_64 random(static_cast<uint64_t>(GTEST_FLAG_GET(random_seed)));
  for (int i = 0; i < kMutations; ++i) {
    const std::string& seed = seeds[random() % seeds.size()];
    const std::string input = Mutate(seed, seeds[random() % seeds.size()], random);
    // Where it dies, the input is in this file.
    const fs::path last = ScratchFile("last_input", input);
    ASSERT_NO_THROW(GetParam().run(input)) << "mutation " << i << ", kept as " << last;
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, FuzzCorpus, ::testing::ValuesIn(Targets()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(FuzzCorpusFolders, AllBelongToATarget) {
  for (const char* kind : {"corpus", "findings"}) {
    if (!fs::exists(kFolder / kind)) continue;
    for (const fs::directory_entry& entry : fs::directory_iterator(kFolder / kind)) {
      EXPECT_NE(FindTarget(entry.path().filename().string()), nullptr) << entry.path();
    }
  }
}

TEST(FuzzParts, AreCutAtTheSeparator) {
  EXPECT_EQ(Parts("a\n%%%%\nb", 3), (std::vector<std::string_view>{"a", "b", ""}));
  EXPECT_EQ(Parts("", 1), (std::vector<std::string_view>{""}));
}

}  // namespace
}  // namespace natsl::fuzz
