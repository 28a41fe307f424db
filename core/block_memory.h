// Memory for large arrays that are made and dropped again and again, as activations are: blocks
// that stay with the process when they are freed and go to the next request of about their size, so
// that the system hands out and clears their pages once; and that lie in huge pages where the
// system has them, since a processor walks its page tables for every 4 KB otherwise.
#pragma once

#include <cstddef>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace natsl::core {

/// All functions may be called by any thread.
class BlockMemory {
 public:
  static constexpr size_t kHugePage = size_t{1} << 21;
  /// Requests from this size on are worth a block of their own.
  static constexpr size_t kLeastBytes = size_t{1} << 20;

  /// Bytes of blocks, rounded up as they are.
  struct Usage {
    size_t live = 0;     ///< handed out
    size_t kept = 0;     ///< freed, and kept for the next request
    size_t largest = 0;  ///< the largest `live` so far: live + kept never exceeds it
  };

  BlockMemory() = default;
  ~BlockMemory();
  BlockMemory(const BlockMemory&) = delete;
  BlockMemory& operator=(const BlockMemory&) = delete;

  /// A block of at least `bytes` > 0 bytes with unspecified content, on a cache line; null where
  /// the system has no more.
  void* Allocate(size_t bytes);
  /// Takes a block of Allocate back. False, and nothing done, for any other pointer.
  bool Free(void* block);
  /// Gives the kept blocks back to the system.
  void ReleaseKept();
  Usage usage() const;

  /// What a request for `bytes` takes: at most an eighth more, or a page.
  static size_t RoundedBytes(size_t bytes);

 private:
  struct Block {
    void* address;
    size_t bytes;
  };

  void* TakeKept(size_t bytes);
  void ReleaseOldest();

  mutable std::mutex mutex_;
  std::unordered_map<void*, size_t> live_;  // bytes by address
  std::vector<Block> kept_;                 // oldest first
  Usage usage_;
  size_t mappings_ = 0;  // made so far
};

}  // namespace natsl::core
