// Blocks straight from mmap, and which of the kept ones a request gets.
#include "core/block_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdint>

#include "core/check.h"

namespace natsl::core {
namespace {

// Blocks start at this many different offsets from a huge page's start: arrays that are walked side
// by side would else meet in the same sets of every cache.
constexpr size_t kStarts = 16, kStartStep = 4096 + 3 * 64;

constexpr size_t MappedBytes(size_t bytes) {
  constexpr size_t kPage = 4096;
  return (bytes + (kStarts - 1) * kStartStep + kPage - 1) / kPage * kPage;
}

/// `bytes` from `offset` behind the start of a huge page; null where the system has no more.
void* MapAligned(size_t bytes, size_t offset) {
  constexpr size_t kPage = 4096, kSlack = BlockMemory::kHugePage - kPage;
  bytes = MappedBytes(bytes);
  void* const mapped =
      mmap(nullptr, bytes + kSlack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto* const begin = static_cast<std::byte*>(mapped);
  const size_t head = -reinterpret_cast<uintptr_t>(mapped) % BlockMemory::kHugePage;
  std::byte* const block = begin + head;
  if (head > 0) munmap(begin, head);
  if (head < kSlack) munmap(block + bytes, kSlack - head);
#ifdef MADV_HUGEPAGE
  // A wish: a system without huge pages refuses it, and the block is as good as any other.
  madvise(block, bytes, MADV_HUGEPAGE);
#endif
  return block + offset;
}

void Unmap(void* block, size_t bytes) {
  const uintptr_t offset = reinterpret_cast<uintptr_t>(block) % BlockMemory::kHugePage;
  munmap(static_cast<std::byte*>(block) - offset, MappedBytes(bytes));
}

}  // namespace

BlockMemory::~BlockMemory() { ReleaseKept(); }

size_t BlockMemory::RoundedBytes(size_t bytes) {
  constexpr size_t kPage = 4096;
  const size_t step = std::max(kPage, std::bit_floor(bytes) / 8);
  return (bytes + step - 1) / step * step;
}

void* BlockMemory::Allocate(size_t bytes) {
  NATSL_CHECK(bytes > 0);
  const size_t rounded = RoundedBytes(bytes);
  if (rounded < bytes) return nullptr;
  const std::lock_guard lock(mutex_);
  if (void* const kept = TakeKept(rounded)) return kept;
  const size_t most = std::max(usage_.largest, usage_.live + rounded);
  while (!kept_.empty() && usage_.live + usage_.kept + rounded > most) ReleaseOldest();
  const size_t offset = mappings_++ % kStarts * kStartStep;
  void* block = MapAligned(rounded, offset);
  while (block == nullptr && !kept_.empty()) {
    ReleaseOldest();
    block = MapAligned(rounded, offset);
  }
  if (block == nullptr) return nullptr;
  live_.emplace(block, rounded);
  usage_.live += rounded;
  usage_.largest = std::max(usage_.largest, usage_.live);
  return block;
}

bool BlockMemory::Free(void* block) {
  const std::lock_guard lock(mutex_);
  const auto found = live_.find(block);
  if (found == live_.end()) return false;
  kept_.push_back({block, found->second});
  usage_.live -= found->second;
  usage_.kept += found->second;
  live_.erase(found);
  return true;
}

void BlockMemory::ReleaseKept() {
  const std::lock_guard lock(mutex_);
  while (!kept_.empty()) ReleaseOldest();
}

BlockMemory::Usage BlockMemory::usage() const {
  const std::lock_guard lock(mutex_);
  return usage_;
}

// The smallest kept block of `bytes` to a quarter more; of several the one freed last, of which
// the caches may still hold something.
void* BlockMemory::TakeKept(size_t bytes) {
  auto best = kept_.end();
  for (auto block = kept_.begin(); block != kept_.end(); ++block) {
    if (block->bytes < bytes || block->bytes - bytes > bytes / 4) continue;
    if (best == kept_.end() || block->bytes <= best->bytes) best = block;
  }
  if (best == kept_.end()) return nullptr;
  const Block taken = *best;
  kept_.erase(best);
  live_.emplace(taken.address, taken.bytes);
  usage_.kept -= taken.bytes;
  usage_.live += taken.bytes;
  usage_.largest = std::max(usage_.largest, usage_.live);
  return taken.address;
}

void BlockMemory::ReleaseOldest() {
  const Block oldest = kept_.front();
  kept_.erase(kept_.begin());
  usage_.kept -= oldest.bytes;
  Unmap(oldest.address, oldest.bytes);
}

}  // namespace natsl::core
