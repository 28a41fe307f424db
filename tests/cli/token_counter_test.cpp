// Threads that count tokens at a time share one tokenizer, opened once.
#include "cli/token_counter.h"

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <stdexcept>
#include <thread>
#include <vector>

namespace natsl::cli {
namespace {

TEST(OpenThenCount, OpensOnceWhateverThreadsCount) {
  constexpr int kThreads = 8, kTimes = 50;
  for (int time = 0; time < kTimes; ++time) {
    std::atomic<int> opened = 0;
    std::atomic<bool> ready = false;
    std::atomic<int64_t> early = 0, sum = 0;
    const auto counter = OpenThenCount(
        [&] {
          ++opened;
          std::this_thread::yield();
          ready = true;
        },
        [&](const std::string& text) {
          early += ready ? 0 : 1;
          return static_cast<int64_t>(text.size());
        });
    std::barrier start(kThreads);
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&] {
        start.arrive_and_wait();
        sum += counter("four");
      });
    }
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(opened, 1);
    ASSERT_EQ(early, 0);
    ASSERT_EQ(sum, 4 * kThreads);
  }
}

TEST(OpenThenCount, WhatOpeningThrowsIsThrownAndTriedAgain) {
  int tries = 0;
  const auto counter = OpenThenCount(
      [&] {
        if (++tries == 1) throw std::runtime_error("no tokenizer");
      },
      [](const std::string&) { return int64_t{7}; });
  EXPECT_THROW(counter("a"), std::runtime_error);
  EXPECT_EQ(counter("a"), 7);
  EXPECT_EQ(counter("a"), 7);
  EXPECT_EQ(tries, 2);
}

}  // namespace
}  // namespace natsl::cli
