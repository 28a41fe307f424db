// Memory of sequences' states on the device: slots of fixed size for recurrent states and tails,
// page lists for keys and values. Forks share by index; nothing here waits for the device but
// growth, accounting and copies to the host.
#pragma once

#include <memory>
#include <vector>

#include "core/dtype.h"
#include "kernels/cuda/attention.h"
#include "model_adapters/native/runner.h"
#include "model_adapters/native/torch_headers.h"

namespace natsl::model_adapters::native::cuda {

/// Numbers 0, 1, ... that are handed out and come back.
class Indices {
 public:
  /// The lowest number not in use; `capacity` is the first that doesn't exist.
  int32_t Take();
  void Give(int32_t index) { free_.push_back(index); }
  int64_t highest() const { return next_; }

 private:
  std::vector<int32_t> free_;
  int32_t next_ = 0;
};

enum class StateKind { kRecurrent, kConvolution };

class StatePool {
 public:
  StatePool();
  ~StatePool();
  StatePool(const StatePool&) = delete;
  StatePool& operator=(const StatePool&) = delete;

  // --- declared by the layers while they are built
  /// A float32 array of every slot; returns its number.
  int64_t AddFixed(StateKind kind, int64_t floats);
  /// Lists of pages of a layer: `groups` lists a sequence, pages of `heads` kv heads. `selected`:
  /// NAtS-L's, which don't hold every chunk. `window`: what a query sees, itself included; 0: all.
  int64_t AddLists(int64_t groups, int64_t heads, int64_t key_dim, int64_t value_dim,
                   core::DType dtype, bool selected = false, int64_t window = 0);

  // --- read by the layers in a pass
  float* fixed(int64_t number) const;
  kernels::cuda::KvPool kv(int64_t number) const;
  kernels::cuda::PageTable table(int64_t number) const;

  // --- slots and lists of sequences
  bool has_fixed() const { return !fixed_.empty(); }
  bool has_lists() const { return !lists_.empty(); }
  int32_t TakeSlot();
  void GiveSlot(int32_t slot) { slots_.Give(slot); }
  int32_t TakeList();
  /// The list's pages go back before the next Prepare's pass.
  void GiveList(int32_t list) { returned_.push_back(list); }

  /// Before a pass: returned lists are emptied, `forks` ({from, to}, ...) made, and pages for it
  /// made sure of. A sequence of the pass ends with at most `longest` tokens; `new_pages` is the
  /// most pages that all its sequences take in one group. Holds for the next pass alone: another
  /// Prepare may count pages as free that the pass has yet to take.
  void Prepare(const std::vector<int32_t>& forks, int64_t new_pages, int64_t longest);

  /// After a pass or a Lengthen: pages of `lists` that lie outside their layer's window go back.
  void DropHidden(const std::vector<int32_t>& lists, bool lengthened = false);

  /// Lengthens lists that their states hold alone by `added` pages (see RunLengthenLists), for
  /// which Prepare has made room. Nothing where there are no lists.
  void Lengthen(const std::vector<int32_t>& lists, int64_t chunks, int64_t added);

  /// NAtS-L heads over all layers: groups of selected lists.
  int64_t selected_heads() const { return selected_heads_; }
  /// After a pass: of the chunks that each list's sequence completed, how many each of these heads
  /// kept, int32 [lists, selected_heads()] on the device, layers in order; 0 for list -1.
  at::Tensor CountSelected(const std::vector<int32_t>& lists) const;

  /// Changes whenever memory moves: captured graphs are then stale.
  int64_t generation() const { return generation_; }
  /// Bytes of one slot.
  int64_t slot_bytes() const;
  int64_t slot_bytes(StateKind kind) const;
  /// Bytes of keys and values of one token if every layer keeps it.
  int64_t token_bytes() const;
  /// Bytes in the pages of `list`. Waits for the device.
  int64_t ListBytes(int32_t list);

 private:
  struct Fixed {
    StateKind kind;
    int64_t floats;
    at::Tensor memory;  ///< [slots, floats]
  };
  struct Lists {
    int64_t groups, heads, key_dim, value_dim;
    core::DType dtype;
    bool selected;
    int64_t first_head;  ///< see KvLayerView
    int64_t window;
    int64_t pages = 0;                    ///< in the pool
    at::Tensor keys, values;              ///< [pages, ...]
    at::Tensor table, counts;             ///< [lists, groups, max_pages], [lists, groups]
    at::Tensor free, free_count, owners;  ///< [pages], [1], [pages]
    int64_t surely_free = 0;              ///< a lower bound known without asking the device
  };

  void GrowSlots(int64_t slots);
  void GrowLists(int64_t lists, int64_t max_pages);
  void GrowPages(Lists& lists, int64_t pages);
  void ReadFreeCounts();
  void UploadViews();
  int64_t page_bytes(const Lists& lists) const;

  std::vector<Fixed> fixed_;
  std::vector<Lists> lists_;
  Indices slots_, list_ids_;
  std::vector<int32_t> returned_;
  bool has_windows_ = false;
  int64_t slot_capacity_ = 0, list_capacity_ = 0, max_pages_ = 0, most_groups_ = 0;
  int64_t selected_heads_ = 0;
  int64_t generation_ = 0, views_generation_ = -1;
  at::Tensor views_;  ///< KvLayerView of every layer, on the device
};

/// A sequence's state: what it holds goes back to the pool with the last owner.
class DeviceState final : public RunnerState {
 public:
  explicit DeviceState(std::shared_ptr<StatePool> pool) : pool_(std::move(pool)) {}

  int64_t length() const override { return length_; }
  std::unique_ptr<RunnerState> Fork() const override;
  std::unique_ptr<DeviceState> ForkState() const;

  /// Bytes; waits for the device.
  StateBytes Bytes() const;

  // --- for the engine, pass by pass
  void Advance(int64_t tokens) { length_ += tokens; }
  /// Where the pass reads the fixed state (-1: zeros) and, if `retain`, where it leaves it.
  int32_t read_slot() const { return slot_ ? *slot_ : -1; }
  /// A slot that only this state holds, its own if it is the only owner. The former one stays alive
  /// in `kept` until the pass is launched.
  int32_t WriteSlot(std::vector<std::shared_ptr<const int32_t>>& kept);
  /// A list that only this state holds; appends {from, to} to `forks` where it was shared.
  int32_t WriteList(std::vector<int32_t>& forks);
  /// -1: no pass yet.
  int32_t list() const { return list_ ? *list_ : -1; }
  bool owns_alone() const { return (!slot_ || slot_.use_count() == 1); }

 private:
  std::shared_ptr<StatePool> pool_;
  std::shared_ptr<const int32_t> slot_, list_;
  int64_t length_ = 0;
};

}  // namespace natsl::model_adapters::native::cuda
