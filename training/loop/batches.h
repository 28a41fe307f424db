// Batches made ahead by generator threads, into buffers that a device can copy from.
#pragma once

#include <ATen/core/Tensor.h>

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "training/data/mixture.h"
#include "training/loop/schedule.h"

namespace natsl::training {

struct BatchPlan {
  std::vector<Phase> phases;
  int64_t batch_tokens = 0;  ///< of one rank and step, a multiple of every context
  uint64_t seed = 0;
  int64_t rank = 0;
  int64_t first_step = 0, steps = 0;  ///< made: first_step ... steps - 1
  int64_t threads = 1;
};

/// Steps' batches in order. A batch is a pure function of (seed, rank, step): nothing else need be
/// saved to go on.
class BatchSource {
 public:
  /// [2, rows, context] int64 on the host: ids, then targets (-1: not learned).
  struct Batch {
    at::Tensor tokens;
    int64_t slot = 0;
  };
  static constexpr int64_t kSlots = 4;

  /// `make_buffer` gives a host buffer of so many numbers.
  BatchSource(std::shared_ptr<const model_adapters::Tokenizer> tokenizer, const Mixture& mixture,
              const BatchPlan& plan, const std::function<at::Tensor(int64_t)>& make_buffer);
  ~BatchSource();

  /// The next step's batch; it stays as it is until Return.
  Batch Next();
  /// The buffer may be filled again.
  void Return(int64_t slot);

 private:
  void Work();
  void Fill(RowMaker& maker, int64_t step, int64_t* data) const;

  std::shared_ptr<const model_adapters::Tokenizer> tokenizer_;
  Mixture mixture_;
  BatchPlan plan_;
  std::vector<at::Tensor> buffers_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<int64_t> free_;               ///< slots
  std::vector<int64_t> ready_;              ///< by slot: the step that it holds, or -1
  int64_t next_made_ = 0, next_taken_ = 0;  ///< steps
  bool stop_ = false;
  std::exception_ptr failure_;
  std::vector<std::thread> threads_;
};

}  // namespace natsl::training
