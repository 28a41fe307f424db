// Work shared among threads, and among those that the system grants.
#include "core/threads.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <stdexcept>

namespace natsl::core {
namespace {

int64_t SumBy(int threads) {
  std::atomic<int64_t> sum = 0;
  ParallelFor(1000, threads, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) sum += i;
  });
  return sum;
}

TEST(ParallelFor, EveryItemOnce) {
  for (const int threads : {0, 1, 3, 64}) EXPECT_EQ(SumBy(threads), 499500) << threads;
}

TEST(ParallelFor, ThrowsWhatAnItemThrew) {
  const auto fails = [](int64_t begin, int64_t end) {
    if (begin <= 50 && 50 < end) throw std::runtime_error("50");
  };
  EXPECT_THROW(ParallelFor(100, 4, fails), std::runtime_error);
}

/// Leaves room for `bytes` more in this process's address space.
void LimitMemory(rlim_t bytes) {
  rlim_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  rlimit limit{};
  ::getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE)) + bytes;
  ::setrlimit(RLIMIT_AS, &limit);
}

// The stacks of a thousand threads don't fit.
TEST(ParallelFor, FewerThreadsThanAskedForDoAllOfIt) {
  EXPECT_EXIT(
      {
        LimitMemory(rlim_t{64} << 20);
        std::_Exit(SumBy(1000) == 499500 ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace natsl::core
