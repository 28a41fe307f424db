// Data parallelism for host work that isn't a kernel.
#include "core/threads.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <system_error>
#include <thread>
#include <vector>

namespace natsl::core {

void ParallelFor(int64_t count, int threads, const std::function<void(int64_t, int64_t)>& body) {
  if (count <= 0) return;
  const int64_t available =
      threads > 0 ? threads : std::max<int64_t>(1, std::thread::hardware_concurrency());
  const int64_t workers = std::min(available, count);
  // Ranges smaller than a worker's share even out work of uneven cost.
  const int64_t ranges = std::min(count, workers == 1 ? 1 : workers * 8);
  std::vector<std::exception_ptr> failures(static_cast<size_t>(ranges));
  std::atomic<int64_t> next{0};
  const auto work = [&] {
    for (int64_t range = next++; range < ranges; range = next++) {
      try {
        body(count * range / ranges, count * (range + 1) / ranges);
      } catch (...) {
        failures[static_cast<size_t>(range)] = std::current_exception();
      }
    }
  };
  std::vector<std::thread> team;
  try {
    for (int64_t i = 1; i < workers; ++i) team.emplace_back(work);
  } catch (const std::system_error&) {  // a limit on threads or memory: those there are do it all
  }
  work();
  for (std::thread& thread : team) thread.join();
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

}  // namespace natsl::core
