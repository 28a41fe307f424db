// The merge loop, twice: a scan of all ranks for short pieces, a heap for long ones.
#include "model_adapters/tokenizers/bpe_merge.h"

#include <queue>

namespace natsl::model_adapters::tokenizers {
namespace {

constexpr size_t kScanLimit = 48;

void MergeByScan(const MergeTable& merges, std::vector<TokenId>& symbols) {
  MergeTable::Merge pairs[kScanLimit];
  size_t count = symbols.size();
  for (size_t i = 0; i + 1 < count; ++i) pairs[i] = merges.Find(symbols[i], symbols[i + 1]);
  while (count > 1) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < count; ++i) {
      if (pairs[i].rank < pairs[best].rank) best = i;
    }
    if (pairs[best].rank == MergeTable::kNoRank) break;
    symbols[best] = pairs[best].result;
    --count;
    for (size_t i = best + 1; i < count; ++i) {
      symbols[i] = symbols[i + 1];
      if (i + 1 < count) pairs[i] = pairs[i + 1];
    }
    if (best > 0) pairs[best - 1] = merges.Find(symbols[best - 1], symbols[best]);
    if (best + 1 < count) pairs[best] = merges.Find(symbols[best], symbols[best + 1]);
  }
  symbols.resize(count);
}

struct Node {
  TokenId id;
  int64_t previous, next;  // -1: none
};

struct Candidate {
  uint32_t rank;
  TokenId result;
  int64_t position;
  /// For a queue that gives the lowest rank first, and of equal ranks the leftmost.
  bool operator<(const Candidate& other) const {
    return rank != other.rank ? rank > other.rank : position > other.position;
  }
};

void MergeByHeap(const MergeTable& merges, std::vector<TokenId>& symbols) {
  const auto count = static_cast<int64_t>(symbols.size());
  std::vector<Node> nodes(symbols.size());
  std::priority_queue<Candidate> queue;
  const auto at = [&](int64_t position) -> Node& { return nodes[static_cast<size_t>(position)]; };
  const auto consider = [&](int64_t position) {
    const Node& left = at(position);
    const MergeTable::Merge merge = merges.Find(left.id, at(left.next).id);
    if (merge.rank != MergeTable::kNoRank) queue.push({merge.rank, merge.result, position});
  };
  for (int64_t i = 0; i < count; ++i) {
    at(i) = {symbols[static_cast<size_t>(i)], i - 1, i + 1 < count ? i + 1 : -1};
  }
  for (int64_t i = 0; i + 1 < count; ++i) consider(i);
  while (!queue.empty()) {
    const Candidate top = queue.top();
    queue.pop();
    Node& left = at(top.position);
    // Candidates aren't taken back when a neighbour changes: those that don't hold any more go.
    if (left.id < 0 || left.next < 0) continue;
    Node& right = at(left.next);
    if (merges.Find(left.id, right.id).result != top.result) continue;
    left.id = top.result;
    left.next = right.next;
    right.id = -1;
    if (left.next >= 0) at(left.next).previous = top.position;
    if (left.previous >= 0) consider(left.previous);
    if (left.next >= 0) consider(top.position);
  }
  symbols.clear();
  for (int64_t i = 0; i >= 0; i = at(i).next) symbols.push_back(at(i).id);
}

}  // namespace

void MergeByRank(const MergeTable& merges, std::vector<TokenId>& symbols) {
  if (symbols.size() < 2) return;
  if (symbols.size() <= kScanLimit) {
    MergeByScan(merges, symbols);
  } else {
    MergeByHeap(merges, symbols);
  }
}

}  // namespace natsl::model_adapters::tokenizers
