// Blocks are reused, whole and bounded by what was in use at once.
#include "core/block_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <random>
#include <thread>

namespace natsl::core {
namespace {

constexpr size_t kMega = size_t{1} << 20;

TEST(BlockMemory, RoundsUpByAnEighthAtMost) {
  EXPECT_EQ(BlockMemory::RoundedBytes(1), 4096u);
  EXPECT_EQ(BlockMemory::RoundedBytes(4096), 4096u);
  EXPECT_EQ(BlockMemory::RoundedBytes(4097), 8192u);
  EXPECT_EQ(BlockMemory::RoundedBytes(16 * kMega), 16 * kMega);
  EXPECT_EQ(BlockMemory::RoundedBytes(16 * kMega + 1), 18 * kMega);
  EXPECT_EQ(BlockMemory::RoundedBytes(31 * kMega), 32 * kMega);
}

TEST(BlockMemory, AFreedBlockServesRequestsOfAboutItsSize) {
  BlockMemory memory;
  void* const block = memory.Allocate(20 * kMega);
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % 64, 0u);
  EXPECT_TRUE(memory.Free(block));
  EXPECT_EQ(memory.Allocate(19 * kMega), block);
  EXPECT_TRUE(memory.Free(block));
  void* const small = memory.Allocate(10 * kMega);  // half of it would be wasted
  EXPECT_NE(small, block);
  EXPECT_NE(memory.Allocate(21 * kMega), block);
}

TEST(BlockMemory, OfSeveralTheOneFreedLastIsTaken) {
  BlockMemory memory;
  void* const first = memory.Allocate(4 * kMega);
  void* const second = memory.Allocate(4 * kMega);
  EXPECT_TRUE(memory.Free(first));
  EXPECT_TRUE(memory.Free(second));
  EXPECT_EQ(memory.Allocate(4 * kMega), second);
  EXPECT_EQ(memory.Allocate(4 * kMega), first);
}

TEST(BlockMemory, RefusesWhatIsNotItsOwn) {
  BlockMemory memory;
  int other = 0;
  EXPECT_FALSE(memory.Free(&other));
  void* const block = memory.Allocate(kMega);
  EXPECT_TRUE(memory.Free(block));
  EXPECT_FALSE(memory.Free(block));
}

TEST(BlockMemory, HasNoBlockLargerThanTheAddressSpace) {
  BlockMemory memory;
  for (const size_t bytes : {std::numeric_limits<size_t>::max(), size_t{1} << 62}) {
    EXPECT_EQ(memory.Allocate(bytes), nullptr);
  }
  EXPECT_EQ(memory.usage().largest, 0u);
}

// Every block keeps its own bytes from end to end, and what is held never exceeds what was in use
// at once, whatever sizes come after one another.
TEST(BlockMemory, HoldsNoMoreThanWasInUse) {
  BlockMemory memory;
  std::mt19937 random(1);
  struct Held {
    size_t bytes;
    unsigned char mark;
  };
  std::map<unsigned char*, Held> held;
  size_t live = 0, largest = 0;
  for (int step = 0; step < 300; ++step) {
    if (held.size() < 6 && random() % 2 == 0) {
      const size_t bytes = 1 + random() % (6 * kMega);
      auto* const block = static_cast<unsigned char*>(memory.Allocate(bytes));
      ASSERT_NE(block, nullptr);
      const auto mark = static_cast<unsigned char>(step);
      std::memset(block, mark, bytes);
      held[block] = {bytes, mark};
    } else if (!held.empty()) {
      const auto any = std::next(held.begin(), random() % static_cast<unsigned>(held.size()));
      const auto [bytes, mark] = any->second;
      EXPECT_EQ(std::count(any->first, any->first + bytes, mark), static_cast<int64_t>(bytes));
      EXPECT_TRUE(memory.Free(any->first));
      held.erase(any);
    }
    const BlockMemory::Usage usage = memory.usage();
    live = usage.live;
    largest = std::max(largest, live);
    ASSERT_EQ(usage.largest, largest);
    ASSERT_LE(usage.live + usage.kept, largest);
  }
  EXPECT_GT(memory.usage().kept, 0u);
  memory.ReleaseKept();
  EXPECT_EQ(memory.usage().kept, 0u);
  EXPECT_EQ(memory.usage().live, live);
  for (const auto& [block, what] : held) EXPECT_TRUE(memory.Free(block));
}

TEST(BlockMemory, ServesThreadsAtOnce) {
  BlockMemory memory;
  std::vector<std::thread> threads;
  std::vector<int> wrong(4);
  for (size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&memory, &wrong, t] {
      for (int i = 0; i < 200; ++i) {
        auto* const block = static_cast<int*>(memory.Allocate(kMega));
        std::fill_n(block, kMega / sizeof(int), static_cast<int>(t));
        wrong[t] += std::count(block, block + kMega / sizeof(int), static_cast<int>(t)) !=
                    static_cast<int64_t>(kMega / sizeof(int));
        wrong[t] += !memory.Free(block);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4));
  EXPECT_EQ(memory.usage().live, 0u);
  EXPECT_LE(memory.usage().kept, 4 * kMega);
}

}  // namespace
}  // namespace natsl::core
