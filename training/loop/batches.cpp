// Generator threads.
#include "training/loop/batches.h"

#include <algorithm>
#include <system_error>

#include "core/check.h"
#include "training/data/stream.h"

namespace natsl::training {

BatchSource::BatchSource(std::shared_ptr<const model_adapters::Tokenizer> tokenizer,
                         const Mixture& mixture, const BatchPlan& plan,
                         const std::function<at::Tensor(int64_t)>& make_buffer)
    : tokenizer_(std::move(tokenizer)),
      mixture_(mixture),
      plan_(plan),
      next_made_(plan.first_step),
      next_taken_(plan.first_step) {
  for (int64_t slot = 0; slot < kSlots; ++slot) {
    buffers_.push_back(make_buffer(2 * plan_.batch_tokens));
    free_.push_back(slot);
  }
  ready_.assign(kSlots, -1);
  try {
    for (int64_t i = 0; i < std::max<int64_t>(plan_.threads, 1); ++i) {
      threads_.emplace_back([this] { Work(); });
    }
  } catch (const std::system_error&) {  // a limit on threads: those there are make all batches
    if (threads_.empty()) throw;
  }
}

BatchSource::~BatchSource() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void BatchSource::Work() {
  try {
    RowMaker maker(tokenizer_, mixture_);
    while (true) {
      int64_t step = 0, slot = 0;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return stop_ || next_made_ >= plan_.steps || !free_.empty(); });
        if (stop_ || next_made_ >= plan_.steps) return;
        // The slot is taken together with the step: the oldest step always has one.
        step = next_made_++;
        slot = free_.back();
        free_.pop_back();
      }
      Fill(maker, step, buffers_[static_cast<size_t>(slot)].mutable_data_ptr<int64_t>());
      {
        const std::lock_guard lock(mutex_);
        ready_[static_cast<size_t>(slot)] = step;
      }
      changed_.notify_all();
    }
  } catch (...) {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::current_exception();
    stop_ = true;
    changed_.notify_all();
  }
}

void BatchSource::Fill(RowMaker& maker, int64_t step, int64_t* data) const {
  const int64_t context = PhaseOf(plan_.phases, step).context;
  for (int64_t row = 0; row < plan_.batch_tokens / context; ++row) {
    const auto length = static_cast<size_t>(context);
    const uint64_t seed = StreamSeed(StreamDomain::kTraining, plan_.seed, plan_.rank, step, row);
    maker.Make(seed, std::span(data + row * context, length),
               std::span(data + plan_.batch_tokens + row * context, length));
  }
}

BatchSource::Batch BatchSource::Next() {
  std::unique_lock lock(mutex_);
  NATSL_CHECK(next_taken_ < plan_.steps);
  int64_t slot = -1;
  changed_.wait(lock, [&] {
    const auto found = std::ranges::find(ready_, next_taken_);
    slot = found == ready_.end() ? -1 : found - ready_.begin();
    return slot >= 0 || failure_ != nullptr;
  });
  if (slot < 0) std::rethrow_exception(failure_);
  ready_[static_cast<size_t>(slot)] = -1;
  const int64_t context = PhaseOf(plan_.phases, next_taken_++).context;
  return {buffers_[static_cast<size_t>(slot)].view({2, plan_.batch_tokens / context, context}),
          slot};
}

void BatchSource::Return(int64_t slot) {
  {
    const std::lock_guard lock(mutex_);
    free_.push_back(slot);
  }
  changed_.notify_all();
}

}  // namespace natsl::training
