// Copy-on-write of states, page recycling, the arena.
#include "model_adapters/native/state.h"

#include <algorithm>
#include <cstring>

#include "kernels/common.h"

namespace natsl::model_adapters::native {

using kernels::kPageTokens;

PagePool::PagePool(int64_t key_floats, int64_t value_floats)
    : key_floats_(key_floats), value_floats_(value_floats) {}

KvPageRef PagePool::New() {
  std::unique_ptr<KvPage> page;
  if (free_->empty()) {
    page = std::make_unique<KvPage>();
    page->storage = at::empty({key_floats_ + value_floats_}, at::kFloat);
    page->keys = page->storage.data_ptr<float>();
    page->values = page->keys + key_floats_;
  } else {
    page = std::move(free_->back());
    free_->pop_back();
  }
  return KvPageRef(page.release(), [free = std::weak_ptr<FreeList>(free_)](KvPage* returned) {
    std::unique_ptr<KvPage> owned(returned);
    if (const auto list = free.lock()) list->push_back(std::move(owned));
  });
}

void PageList::PrepareAppend(PagePool& pool) {
  if (keys == static_cast<int64_t>(pages.size()) * kPageTokens) {
    pages.push_back(pool.New());
  } else if (pages.back().use_count() > 1) {
    KvPageRef copy = pool.New();
    copy->storage.copy_(pages.back()->storage);
    pages.back() = std::move(copy);
  }
}

void LayerState::Release() {
  LayerState released;
  released.softmax_chunks = std::move(softmax_chunks);
  *this = std::move(released);
}

StateBytes BytesOf(const SequenceState& state) {
  StateBytes bytes;
  const auto size = [](const at::Tensor& t) {
    return t.defined() ? t.numel() * static_cast<int64_t>(t.element_size()) : 0;
  };
  for (const LayerState& layer : state.layers) {
    for (const at::Tensor& tail : layer.tails) bytes.convolution += size(tail);
    bytes.convolution += size(layer.channel_mix_tail);
    bytes.recurrent += size(layer.recurrent) + size(layer.chunk_start) +
                       size(layer.chunk_log_decay) + size(layer.pooled);
    for (const PageList& list : layer.kv) {
      for (const KvPageRef& page : list.pages) bytes.kv += size(page->storage);
    }
    for (const KvPageRef& page : layer.own_chunk) bytes.kv += page ? size(page->storage) : 0;
  }
  return bytes;
}

float* Arena::Take(int64_t floats) {
  constexpr int64_t kBlockFloats = int64_t{1} << 22;
  constexpr int64_t kLine = 16;  // floats of a cache line: every state starts on one
  while (block_ < blocks_.size() && used_ + floats > blocks_[block_].numel()) {
    ++block_;
    used_ = 0;
  }
  if (block_ == blocks_.size()) {
    blocks_.push_back(at::empty({std::max(floats, kBlockFloats)}, at::kFloat));
    used_ = 0;
  }
  float* memory = blocks_[block_].data_ptr<float>() + used_;
  used_ += (floats + kLine - 1) / kLine * kLine;
  std::memset(memory, 0, static_cast<size_t>(floats) * sizeof(float));
  return memory;
}

void Arena::Reset() {
  block_ = 0;
  used_ = 0;
}

void Batch::Add(SequenceState& state, std::span<const TokenId> tokens, bool retain_state) {
  ids.insert(ids.end(), tokens.begin(), tokens.end());
  for (size_t i = 0; i < tokens.size(); ++i) {
    positions.push_back(state.length + static_cast<int64_t>(i));
  }
  offsets.push_back(static_cast<int64_t>(ids.size()));
  states.push_back(&state);
  retain.push_back(retain_state ? 1 : 0);
}

float* Batch::Writable(size_t s, at::Tensor& tensor, int64_t floats) const {
  if (!retain[s] && arena != nullptr) {
    float* memory = arena->Take(floats);
    if (tensor.defined()) {
      std::memcpy(memory, tensor.data_ptr<float>(), static_cast<size_t>(floats) * sizeof(float));
    }
    return memory;
  }
  if (!tensor.defined()) {
    tensor = at::zeros({floats}, at::kFloat);
  } else if (tensor.use_count() > 1) {
    tensor = tensor.clone();
  }
  return tensor.data_ptr<float>();
}

}  // namespace natsl::model_adapters::native
