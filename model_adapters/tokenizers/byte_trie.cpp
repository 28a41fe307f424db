// Building the trie.
#include "model_adapters/tokenizers/byte_trie.h"

namespace natsl::model_adapters::tokenizers {

ByteTrie::ByteTrie() : values_(1, -1), edges_(64) {}

void ByteTrie::Grow() {
  std::vector<Edge> old(edges_.size() * 2);
  old.swap(edges_);
  for (const Edge& edge : old) {
    if (edge.key != 0) edges_[Slot(edge.key)] = edge;
  }
}

void ByteTrie::Insert(std::string_view key, int32_t value) {
  uint32_t node = 0;
  for (const char c : key) {
    const uint64_t edge_key = (uint64_t{node} << 8 | static_cast<uint8_t>(c)) + 1;
    size_t slot = Slot(edge_key);
    if (edges_[slot].key == 0) {
      if (values_.size() * 2 > edges_.size()) {
        Grow();
        slot = Slot(edge_key);
      }
      edges_[slot] = {edge_key, static_cast<uint32_t>(values_.size())};
      values_.push_back(-1);
    }
    node = edges_[slot].child;
  }
  values_[node] = value;
}

}  // namespace natsl::model_adapters::tokenizers
