// Every golden checkpoint of the reference implementations opens with exactly its expected slots,
// and both config dialects give one spec.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "model_adapters/safetensors/reader.h"
#include "model_adapters/spec/checkpoint.h"

namespace natsl::model_adapters {
namespace {

std::filesystem::path Shared(const char* name) {
  return std::filesystem::path(NATSL_SOURCE_DIR) / ".." / "shared" / name;
}

std::vector<std::filesystem::path> GoldenFolders() {
  std::vector<std::filesystem::path> folders;
  if (!std::filesystem::exists(Shared("golden"))) return folders;
  for (const auto& entry : std::filesystem::directory_iterator(Shared("golden"))) {
    if (std::filesystem::exists(entry.path() / "model.safetensors")) folders.push_back(entry);
  }
  return folders;
}

TEST(GoldenCheckpoints, OpenWithExactlyTheirSlots) {
  const auto folders = GoldenFolders();
  if (folders.empty()) GTEST_SKIP() << "no ../shared/golden";
  EXPECT_GE(folders.size(), 23u);
  for (const auto& folder : folders) {
    SCOPED_TRACE(folder.string());
    const Checkpoint checkpoint(folder);
    EXPECT_EQ(checkpoint.spec().ignored_keys, std::vector<std::string>{});
    int64_t in_slots = 0, in_file = 0;
    for (const SlotSpec& slot : ExpectedSlots(checkpoint.spec())) {
      ASSERT_TRUE(checkpoint.Has(slot.slot)) << slot.slot;
      const WeightView view = checkpoint.Weight(slot.slot);
      EXPECT_EQ(view.shape, slot.shape);
      EXPECT_NE(view.data, nullptr);
      int64_t count = 1;
      for (const int64_t size : slot.shape) count *= size;
      in_slots += count;
    }
    const SafetensorsFolder files(folder);
    for (const auto& [name, tensor] : files.tensors()) {
      in_file += tensor->elements();
    }
    EXPECT_EQ(in_slots, in_file);
  }
}

TEST(GoldenCheckpoints, BothConfigDialectsGiveOneSpec) {
  const auto folders = GoldenFolders();
  if (folders.empty()) GTEST_SKIP() << "no ../shared/golden";
  int compared = 0;
  for (const auto& folder : folders) {
    if (!std::filesystem::exists(folder / "config_v5.json")) continue;
    SCOPED_TRACE(folder.string());
    EXPECT_EQ(LoadModelSpec(folder), LoadModelSpec(folder / "config_v5.json"));
    ++compared;
  }
  EXPECT_EQ(compared, 8);
}

}  // namespace
}  // namespace natsl::model_adapters
