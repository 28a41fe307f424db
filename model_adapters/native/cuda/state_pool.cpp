// Growth of the pools, and copy-on-write of slots and lists.
#include "model_adapters/native/cuda/state_pool.h"

#include <algorithm>

#include "core/cast.h"
#include "core/error.h"
#include "model_adapters/native/cuda/engine_kernels.h"
#include "model_adapters/native/cuda/tensors.h"

namespace natsl::model_adapters::native::cuda {
namespace {

using kernels::kPageTokens;

// Memory below which a pool that must grow doubles; above, it grows by a quarter.
constexpr int64_t kDoublingBytes = int64_t{1} << 29;

int64_t Larger(int64_t current, int64_t needed, int64_t bytes_each) {
  const bool small = current * bytes_each < kDoublingBytes;
  return std::max(needed, small ? 2 * current : current + current / 4);
}

// A copy with more rows; the new ones are zeros where `zeros`, else whatever.
at::Tensor WithRows(const at::Tensor& old, at::IntArrayRef shape, at::ScalarType type, bool zeros) {
  at::Tensor next =
      zeros ? at::zeros(shape, at::TensorOptions(at::kCUDA).dtype(type)) : EmptyOn(shape, type);
  if (old.defined()) next.narrow(0, 0, old.size(0)).copy_(old);
  return next;
}

at::Tensor Uploaded(const std::vector<int32_t>& numbers) {
  const at::Tensor host =
      at::empty({core::Size(numbers)}, at::TensorOptions(at::kInt).pinned_memory(true));
  std::copy(numbers.begin(), numbers.end(), host.data_ptr<int32_t>());
  return host.to(at::kCUDA, /*non_blocking=*/true);
}

}  // namespace

int32_t Indices::Take() {
  if (free_.empty()) return next_++;
  const int32_t index = free_.back();
  free_.pop_back();
  return index;
}

StatePool::StatePool() = default;
StatePool::~StatePool() = default;

int64_t StatePool::AddFixed(StateKind kind, int64_t floats) {
  fixed_.push_back({kind, floats, {}});
  return core::Size(fixed_) - 1;
}

int64_t StatePool::AddLists(int64_t groups, int64_t heads, int64_t key_dim, int64_t value_dim,
                            core::DType dtype, bool selected, int64_t window) {
  Lists lists;
  lists.groups = groups;
  lists.heads = heads;
  lists.key_dim = key_dim;
  lists.value_dim = value_dim;
  lists.dtype = dtype;
  lists.selected = selected;
  lists.first_head = selected_heads_;
  if (selected) selected_heads_ += groups;
  lists.window = window;
  has_windows_ = has_windows_ || window > 0;
  lists_.push_back(std::move(lists));
  most_groups_ = std::max(most_groups_, groups);
  return core::Size(lists_) - 1;
}

float* StatePool::fixed(int64_t number) const {
  return fixed_[static_cast<size_t>(number)].memory.data_ptr<float>();
}

kernels::cuda::KvPool StatePool::kv(int64_t number) const {
  const Lists& lists = lists_[static_cast<size_t>(number)];
  kernels::cuda::KvPool pool;
  pool.dtype = lists.dtype;
  pool.keys = lists.keys.data_ptr();
  pool.values = lists.values.data_ptr();
  pool.heads = lists.heads;
  pool.key_dim = lists.key_dim;
  pool.value_dim = lists.value_dim;
  return pool;
}

kernels::cuda::PageTable StatePool::table(int64_t number) const {
  const Lists& lists = lists_[static_cast<size_t>(number)];
  kernels::cuda::PageTable table;
  table.pages = lists.table.data_ptr<int32_t>();
  table.keys = lists.counts.data_ptr<int32_t>();
  table.groups = lists.groups;
  table.max_pages = max_pages_;
  table.free = lists.free.data_ptr<int32_t>();
  table.free_count = lists.free_count.data_ptr<int32_t>();
  return table;
}

int32_t StatePool::TakeSlot() {
  const int32_t slot = slots_.Take();
  if (slots_.highest() > slot_capacity_) {
    GrowSlots(Larger(slot_capacity_, std::max<int64_t>(slots_.highest(), 4), slot_bytes()));
  }
  return slot;
}

int32_t StatePool::TakeList() {
  const int32_t list = list_ids_.Take();
  if (list_ids_.highest() > list_capacity_) {
    GrowLists(std::max<int64_t>(2 * list_capacity_, 64), max_pages_);
  }
  return list;
}

void StatePool::GrowSlots(int64_t slots) {
  for (Fixed& fixed : fixed_) {
    fixed.memory = WithRows(fixed.memory, {slots, fixed.floats}, at::kFloat, false);
  }
  slot_capacity_ = slots;
  ++generation_;
}

// Memory may run out in any of these: nothing changes before all of it is there.
void StatePool::GrowLists(int64_t list_count, int64_t max_pages) {
  std::vector<at::Tensor> tables, counts;
  for (const Lists& lists : lists_) {
    at::Tensor table = EmptyOn({list_count, lists.groups, max_pages}, at::kInt).fill_(-1);
    if (lists.table.defined() && max_pages_ > 0) {
      table.narrow(0, 0, list_capacity_).narrow(2, 0, max_pages_).copy_(lists.table);
    }
    tables.push_back(table);
    counts.push_back(WithRows(lists.counts, {list_count, lists.groups}, at::kInt, true));
  }
  for (size_t i = 0; i < lists_.size(); ++i) {
    lists_[i].table = tables[i];
    lists_[i].counts = counts[i];
  }
  list_capacity_ = list_count;
  max_pages_ = max_pages;
  ++generation_;
}

void StatePool::GrowPages(Lists& lists, int64_t pages) {
  const at::ScalarType type = ScalarTypeOf(lists.dtype);
  const at::Tensor keys =
      WithRows(lists.keys, {pages, lists.heads, kPageTokens, lists.key_dim}, type, false);
  const at::Tensor values =
      WithRows(lists.values, {pages, lists.heads, kPageTokens, lists.value_dim}, type, false);
  const at::Tensor owners = WithRows(lists.owners, {pages}, at::kInt, true);
  const at::Tensor free = WithRows(lists.free, {pages}, at::kInt, true);
  if (!lists.free_count.defined()) {
    lists.free_count = at::zeros({1}, at::TensorOptions(at::kCUDA).dtype(at::kInt));
  }
  // The new pages go on top of the stack.
  const int64_t count = lists.free_count.item<int32_t>();
  const int64_t added = pages - lists.pages;
  free.narrow(0, count, added)
      .copy_(at::arange(lists.pages, pages, at::TensorOptions(at::kCUDA).dtype(at::kInt)).flip(0));
  lists.free_count.fill_(count + added);
  lists.keys = keys;
  lists.values = values;
  lists.owners = owners;
  lists.free = free;
  lists.pages = pages;
  lists.surely_free = count + added;
  ++generation_;
}

void StatePool::ReadFreeCounts() {
  std::vector<at::Tensor> counts;
  for (const Lists& lists : lists_) {
    if (!lists.free_count.defined()) return;
    counts.push_back(lists.free_count);
  }
  const at::Tensor all = at::cat(counts).cpu();
  for (size_t i = 0; i < lists_.size(); ++i) {
    lists_[i].surely_free = all.data_ptr<int32_t>()[i];
    if (lists_[i].surely_free < 0) {
      throw InternalError("state pool: layer {} took {} pages more than there are", i,
                          -lists_[i].surely_free);
    }
  }
}

void StatePool::UploadViews() {
  std::vector<KvLayerView> views;
  for (size_t i = 0; i < lists_.size(); ++i) {
    const Lists& lists = lists_[i];
    const int64_t element = core::ByteSize(lists.dtype);
    KvLayerView view;
    view.table = table(static_cast<int64_t>(i));
    view.more_owners = lists.owners.data_ptr<int32_t>();
    view.keys = static_cast<char*>(lists.keys.data_ptr());
    view.values = static_cast<char*>(lists.values.data_ptr());
    view.key_page_bytes = lists.heads * kPageTokens * lists.key_dim * element;
    view.value_page_bytes = lists.heads * kPageTokens * lists.value_dim * element;
    view.selected = lists.selected;
    view.first_head = lists.first_head;
    view.window = lists.window;
    views.push_back(view);
  }
  const auto bytes = static_cast<int64_t>(views.size() * sizeof(KvLayerView));
  views_ = at::from_blob(views.data(), {bytes}, at::kByte).to(at::kCUDA);
  views_generation_ = generation_;
}

void StatePool::Prepare(const std::vector<int32_t>& forks, int64_t new_pages, int64_t longest) {
  // A pass whose sequences all end with it takes no slot: the arrays exist all the same.
  if (has_fixed() && slot_capacity_ == 0) GrowSlots(1);
  if (lists_.empty()) return;
  const int64_t wanted_pages = (longest + kPageTokens - 1) / kPageTokens + 1;
  if (wanted_pages > max_pages_) {
    GrowLists(list_capacity_, std::max<int64_t>(wanted_pages + wanted_pages / 4, 32));
  }
  const int64_t needed_each = new_pages + core::Size(forks) / 2;
  const auto short_of_pages = [&] {
    return std::any_of(lists_.begin(), lists_.end(), [&](const Lists& lists) {
      return lists.surely_free < needed_each * lists.groups;
    });
  };
  const auto layers = core::Size(lists_);
  if (!returned_.empty() && views_.defined()) {
    if (generation_ != views_generation_) UploadViews();
    const at::Tensor numbers = Uploaded(returned_);
    RunReleaseLists(static_cast<const KvLayerView*>(views_.data_ptr()), layers, most_groups_,
                    numbers.data_ptr<int32_t>(), core::Size(returned_), CurrentStream());
    for (const int32_t list : returned_) list_ids_.Give(list);
    returned_.clear();
  }
  if (short_of_pages()) ReadFreeCounts();
  for (Lists& lists : lists_) {
    const int64_t needed = needed_each * lists.groups;
    if (lists.surely_free >= needed) continue;
    const int64_t pages = lists.pages + needed - lists.surely_free;
    GrowPages(lists, Larger(lists.pages, pages, page_bytes(lists)));
  }
  if (generation_ != views_generation_) UploadViews();
  if (!forks.empty()) {
    const at::Tensor numbers = Uploaded(forks);
    RunForkLists(static_cast<const KvLayerView*>(views_.data_ptr()), layers, most_groups_,
                 numbers.data_ptr<int32_t>(), core::Size(forks) / 2, CurrentStream());
  }
  for (Lists& lists : lists_) lists.surely_free -= needed_each * lists.groups;
}

void StatePool::DropHidden(const std::vector<int32_t>& lists, bool lengthened) {
  if (!has_windows_) return;
  const at::Tensor numbers = Uploaded(lists);
  RunDropHidden(static_cast<const KvLayerView*>(views_.data_ptr()), core::Size(lists_),
                most_groups_, numbers.data_ptr<int32_t>(), core::Size(lists), lengthened,
                CurrentStream());
}

void StatePool::Lengthen(const std::vector<int32_t>& lists, int64_t chunks, int64_t added) {
  if (lists_.empty()) return;
  const at::Tensor numbers = Uploaded(lists);
  RunLengthenLists(static_cast<const KvLayerView*>(views_.data_ptr()), core::Size(lists_),
                   most_groups_, numbers.data_ptr<int32_t>(), core::Size(lists), chunks, added,
                   CurrentStream());
}

at::Tensor StatePool::CountSelected(const std::vector<int32_t>& lists) const {
  at::Tensor counts = EmptyOn({core::Size(lists), selected_heads_}, at::kInt);
  const at::Tensor numbers = Uploaded(lists);
  RunCountSelected(static_cast<const KvLayerView*>(views_.data_ptr()), core::Size(lists_),
                   numbers.data_ptr<int32_t>(), core::Size(lists), selected_heads_,
                   counts.data_ptr<int32_t>(), CurrentStream());
  return counts;
}

int64_t StatePool::page_bytes(const Lists& lists) const {
  return lists.heads * kPageTokens * (lists.key_dim + lists.value_dim) *
         core::ByteSize(lists.dtype);
}

int64_t StatePool::slot_bytes(StateKind kind) const {
  int64_t bytes = 0;
  for (const Fixed& fixed : fixed_) bytes += fixed.kind == kind ? fixed.floats * 4 : 0;
  return bytes;
}

int64_t StatePool::slot_bytes() const {
  return slot_bytes(StateKind::kRecurrent) + slot_bytes(StateKind::kConvolution);
}

int64_t StatePool::token_bytes() const {
  int64_t bytes = 0;
  for (const Lists& lists : lists_) bytes += lists.groups * page_bytes(lists) / kPageTokens;
  return bytes;
}

int64_t StatePool::ListBytes(int32_t list) {
  int64_t bytes = 0;
  for (const Lists& lists : lists_) {
    const at::Tensor keys = lists.counts[list].cpu();
    for (int64_t g = 0; g < lists.groups; ++g) {
      const int64_t held = keys.data_ptr<int32_t>()[g];
      const int64_t pages =
          (held + kPageTokens - 1) / kPageTokens - HiddenPages(held, lists.window);
      bytes += pages * page_bytes(lists);
    }
  }
  return bytes;
}

std::unique_ptr<RunnerState> DeviceState::Fork() const { return ForkState(); }

std::unique_ptr<DeviceState> DeviceState::ForkState() const {
  return std::make_unique<DeviceState>(*this);
}

int32_t DeviceState::WriteSlot(std::vector<std::shared_ptr<const int32_t>>& kept) {
  if (!slot_ || slot_.use_count() > 1) {
    if (slot_) kept.push_back(std::move(slot_));
    slot_ = std::shared_ptr<const int32_t>(new int32_t(pool_->TakeSlot()),
                                           [pool = pool_](const int32_t* slot) {
                                             pool->GiveSlot(*slot);
                                             delete slot;
                                           });
  }
  return *slot_;
}

int32_t DeviceState::WriteList(std::vector<int32_t>& forks) {
  if (!list_ || list_.use_count() > 1) {
    const int32_t from = list_ ? *list_ : -1;
    list_ = std::shared_ptr<const int32_t>(new int32_t(pool_->TakeList()),
                                           [pool = pool_](const int32_t* list) {
                                             pool->GiveList(*list);
                                             delete list;
                                           });
    if (from >= 0) {
      forks.push_back(from);
      forks.push_back(*list_);
    }
  }
  return *list_;
}

StateBytes DeviceState::Bytes() const {
  StateBytes bytes;
  if (slot_) {
    bytes.recurrent = pool_->slot_bytes(StateKind::kRecurrent);
    bytes.convolution = pool_->slot_bytes(StateKind::kConvolution);
  }
  if (list_) bytes.kv = pool_->ListBytes(*list_);
  return bytes;
}

}  // namespace natsl::model_adapters::native::cuda
