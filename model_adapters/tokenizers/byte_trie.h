// A trie over bytes with its edges in one flat hash table: prefixes of a text that are keys.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace natsl::model_adapters::tokenizers {

class ByteTrie {
 public:
  ByteTrie();

  /// A key that is there already gets the new value. Keys must not be empty.
  void Insert(std::string_view key, int32_t value);

  /// Calls visit(length, value) for every key that is a prefix of `text`, shortest first.
  template <typename Visit>
  void Prefixes(std::string_view text, Visit&& visit) const {
    uint32_t node = 0;
    for (size_t i = 0; i < text.size(); ++i) {
      const uint32_t next = Child(node, static_cast<uint8_t>(text[i]));
      if (next == 0) return;
      node = next;
      if (values_[node] >= 0) visit(i + 1, values_[node]);
    }
  }

  bool empty() const { return values_.size() == 1; }
  /// Whether a key starts with this byte.
  bool StartsWith(uint8_t byte) const { return Child(0, byte) != 0; }

 private:
  struct Edge {
    uint64_t key = 0;  // (node << 8 | byte) + 1; 0: free
    uint32_t child = 0;
  };
  size_t Slot(uint64_t key) const {
    const size_t mask = edges_.size() - 1;
    size_t slot = (key * 0x9E3779B97F4A7C15u >> 20) & mask;
    while (edges_[slot].key != 0 && edges_[slot].key != key) slot = (slot + 1) & mask;
    return slot;
  }
  uint32_t Child(uint32_t node, uint8_t byte) const {
    return edges_[Slot((uint64_t{node} << 8 | byte) + 1)].child;
  }
  void Grow();

  std::vector<int32_t> values_;  // by node; -1: not a key
  std::vector<Edge> edges_;      // open addressing, a power of two
};

}  // namespace natsl::model_adapters::tokenizers
