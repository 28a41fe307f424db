// State of sequences: KV pages, recurrent states, convolution tails. A copy of a state is a fork:
// tensors and pages are shared until one side writes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "model_adapters/native/torch_headers.h"
#include "model_adapters/token_model.h"

namespace natsl::model_adapters::native {

/// Keys [heads, 64, key_dim] and values [heads, 64, value_dim] of 64 tokens, float32.
struct KvPage {
  at::Tensor storage;
  float* keys = nullptr;
  float* values = nullptr;
};
using KvPageRef = std::shared_ptr<KvPage>;

/// Recycles pages. Thread-compatible; pages may outlive it.
class PagePool {
 public:
  PagePool(int64_t key_floats, int64_t value_floats);
  KvPageRef New();
  int64_t page_bytes() const { return (key_floats_ + value_floats_) * 4; }

 private:
  using FreeList = std::vector<std::unique_ptr<KvPage>>;
  int64_t key_floats_, value_floats_;
  std::shared_ptr<FreeList> free_ = std::make_shared<FreeList>();
};

/// Pages of one head group, oldest first; all but the last are full.
struct PageList {
  std::vector<KvPageRef> pages;
  int64_t first_key = 0;  ///< keys that a window dropped from the front, a multiple of 64
  int64_t keys = 0;       ///< keys in `pages`

  /// Makes room for the next key: a new page, or a private copy of a shared partial one.
  void PrepareAppend(PagePool& pool);
};

/// What one layer keeps of one sequence; a mixer uses what it needs.
struct LayerState {
  at::Tensor recurrent;           ///< [heads, K, V] (scan: [channels]); undefined: zeros
  std::vector<at::Tensor> tails;  ///< short convolutions and token shifts, raw inputs
  at::Tensor channel_mix_tail;    ///< RWKV6's second token shift
  std::vector<PageList> kv;       ///< per head group
  // NAtS-L, inside a chunk.
  at::Tensor chunk_start;            ///< S at the chunk's first token
  at::Tensor chunk_log_decay;        ///< [value_heads]
  at::Tensor pooled;                 ///< [hidden], sum of the chunk's layer inputs
  std::vector<KvPageRef> own_chunk;  ///< per NAtS head
  /// Per NAtS head, chunks so far that it gave to softmax attention.
  std::vector<int32_t> softmax_chunks;

  /// Frees what only going on would need; the counts stay.
  void Release();
};

struct SequenceState {
  int64_t length = 0;  ///< tokens consumed
  std::vector<LayerState> layers;
};

/// Adds the bytes of a sequence's state; `page_bytes[i]` is layer i's.
StateBytes BytesOf(const SequenceState& state);

/// Zeroed float32 memory for states of sequences that end in this pass: recycled layer by layer.
class Arena {
 public:
  float* Take(int64_t floats);
  void Reset();

 private:
  std::vector<at::Tensor> blocks_;
  size_t block_ = 0;
  int64_t used_ = 0;
};

/// Observes and overrides NAtS-L's choices. `softmax` [heads] of one completed chunk: 1 =
/// attention.
class ChunkChoices {
 public:
  virtual ~ChunkChoices() = default;
  virtual void OnChunk(int64_t layer, int64_t sequence, int64_t chunk,
                       std::vector<uint8_t>& softmax) = 0;
};

/// Packed sequences of one forward pass.
struct Batch {
  std::vector<TokenId> ids;
  std::vector<int64_t> offsets = {0};  ///< [sequences + 1]
  std::vector<int64_t> positions;      ///< [tokens], absolute
  std::vector<SequenceState*> states;  ///< [sequences]
  std::vector<uint8_t> retain;         ///< [sequences]: state is needed after the pass
  Arena* arena = nullptr;
  ChunkChoices* choices = nullptr;

  int64_t tokens() const { return static_cast<int64_t>(ids.size()); }
  int64_t sequences() const { return static_cast<int64_t>(states.size()); }
  int64_t tokens_of(size_t s) const { return offsets[s + 1] - offsets[s]; }
  void Add(SequenceState& state, std::span<const TokenId> tokens, bool retain_state);

  /// Memory of one of sequence s's states, to be read and updated: private to the sequence, zeros
  /// where `tensor` is undefined. Where the state isn't retained it lies in the arena.
  float* Writable(size_t s, at::Tensor& tensor, int64_t floats) const;
};

}  // namespace natsl::model_adapters::native
