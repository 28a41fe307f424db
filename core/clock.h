// Time as an interface, so that stopping rules and progress can be tested with a clock that is set.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace natsl::core {

inline constexpr int64_t kNsPerMs = 1'000'000;

class Clock {
 public:
  virtual ~Clock() = default;
  /// Monotonic nanoseconds since an unspecified start.
  virtual int64_t NowNs() const = 0;
};

class SteadyClock final : public Clock {
 public:
  int64_t NowNs() const override {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
};

/// Moves only when told to.
class FakeClock final : public Clock {
 public:
  int64_t NowNs() const override { return now_ns_; }
  void Advance(int64_t ns) { now_ns_ += ns; }

 private:
  int64_t now_ns_ = 0;
};

/// The date and time of day: "2025-01-31T23:59:59Z".
std::string UtcNow();

}  // namespace natsl::core
