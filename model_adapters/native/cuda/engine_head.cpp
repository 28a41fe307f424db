// What scoring and generation ask about the rows of a pass.
#include <algorithm>

#include "core/cast.h"
#include "core/error.h"
#include "kernels/cuda/sampling.h"
#include "model_adapters/native/cuda/engine.h"
#include "model_adapters/native/cuda/packing.h"

namespace natsl::model_adapters::native::cuda {
namespace {

// Bytes of logits that exist at once when the head is queried.
constexpr int64_t kLogitsBytes = int64_t{1} << 28;

at::Tensor ToHost(const at::Tensor& t) {
  at::Tensor host = at::empty(t.sizes(), at::TensorOptions(t.scalar_type()).pinned_memory(true));
  host.copy_(t, /*non_blocking=*/true);
  return host;
}

// A point in the stream's work; Wait blocks until the device has passed it.
class Mark {
 public:
  Mark() {
    kernels::cuda::Check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "event");
    kernels::cuda::Check(cudaEventRecord(event_, CurrentStream()), "event");
  }
  ~Mark() { cudaEventDestroy(event_); }
  Mark(const Mark&) = delete;
  Mark& operator=(const Mark&) = delete;
  void Wait() const { kernels::cuda::Check(cudaEventSynchronize(event_), "forward pass"); }

 private:
  cudaEvent_t event_ = nullptr;
};

at::Tensor RowsOnDevice(std::span<const int64_t> rows) {
  const at::Tensor host =
      at::empty({core::Size(rows)}, at::TensorOptions(at::kLong).pinned_memory(true));
  std::copy(rows.begin(), rows.end(), host.data_ptr<int64_t>());
  return host.to(at::kCUDA, /*non_blocking=*/true);
}

}  // namespace

Runner::Answers Engine::Query(std::vector<HeadQuery> queries) {
  std::vector<int64_t> rows;
  std::vector<TokenId> targets;
  for (const HeadQuery& query : queries) {
    for (const TokenId target : query.targets) {
      rows.push_back(query.row);
      targets.push_back(target);
    }
  }
  const int64_t count = core::Size(rows);
  const at::Tensor device_targets = Upload(targets);
  const at::Tensor log_probs = EmptyOn({count}, at::kFloat);
  const at::Tensor argmax = EmptyOn({count}, at::kInt);
  const int64_t vocabulary = network_->spec().vocabulary;
  const int64_t block = std::max<int64_t>(kLogitsBytes / (vocabulary * 4), 1);
  const at::Tensor device_rows = RowsOnDevice(rows);
  for (int64_t begin = 0; begin < count; begin += block) {
    const int64_t n = std::min(block, count - begin);
    const at::Tensor normed =
        last_steps_ ? at::Tensor() : network_->FinalNorm(last_, device_rows.narrow(0, begin, n));
    const at::Tensor logits =
        last_steps_ ? last_steps_->logits.index_select(0, device_rows.narrow(0, begin, n))
                    : network_->RawLogits(normed);
    kernels::cuda::LogitsArgs args;
    args.dtype = core::DType::kFloat32;
    args.logits = logits.data_ptr();
    args.logits_stride = logits.stride(0);
    args.targets = device_targets.data_ptr<int32_t>() + begin;
    args.target_log_prob = log_probs.data_ptr<float>() + begin;
    args.argmax = argmax.data_ptr<int32_t>() + begin;
    args.rows = n;
    args.vocabulary = vocabulary;
    args.soft_cap = network_->spec().logit_soft_cap;
    kernels::cuda::RunLogits(args, CurrentStream());
  }
  return [queries = std::move(queries), host_log_probs = ToHost(log_probs),
          host_argmax = ToHost(argmax), mark = std::make_shared<Mark>()] {
    mark->Wait();
    std::vector<HeadAnswer> answers;
    int64_t at = 0;
    for (const HeadQuery& query : queries) {
      HeadAnswer answer;
      answer.argmax = host_argmax.data_ptr<int32_t>()[at];
      for (size_t i = 0; i < query.targets.size(); ++i) {
        answer.log_probs.push_back(host_log_probs.data_ptr<float>()[at++]);
      }
      answers.push_back(std::move(answer));
    }
    return answers;
  };
}

// A list holds the chunks that its head gave to softmax attention, so its length is their count:
// passes count nothing for it.
Runner::SoftmaxChunks Engine::CountSoftmax(std::span<RunnerState* const> states) {
  std::vector<int32_t> lists;
  for (RunnerState* state : states) lists.push_back(static_cast<DeviceState*>(state)->list());
  return [host = ToHost(pool_->CountSelected(lists)), mark = std::make_shared<Mark>()] {
    mark->Wait();
    std::vector<std::vector<int32_t>> counts;
    for (int64_t i = 0; i < host.size(0); ++i) {
      const int32_t* heads = host.data_ptr<int32_t>() + i * host.size(1);
      counts.emplace_back(heads, heads + host.size(1));
    }
    return counts;
  };
}

std::vector<TokenId> Engine::Choose(std::span<const int64_t> rows,
                                    std::span<const Chooser> choosers) {
  const bool greedy = std::all_of(choosers.begin(), choosers.end(),
                                  [](const Chooser& c) { return c.sampling->temperature <= 0; });
  // A step's rows are its sequences, in order.
  at::Tensor logits = last_steps_
                          ? last_steps_->logits
                          : network_->RawLogits(network_->FinalNorm(last_, RowsOnDevice(rows)));
  std::vector<TokenId> ids(rows.size());
  if (greedy) {
    static_assert(kNoToken == kernels::cuda::kNoId);
    const at::Tensor next = (last_steps_ ? last_steps_->next : Argmax(logits)).cpu();
    std::copy_n(next.data_ptr<int32_t>(), ids.size(), ids.begin());
    return ids;
  }
  if (const double cap = network_->spec().logit_soft_cap; cap > 0) {
    logits = logits.div(cap).tanh_().mul_(cap);
  }
  const at::Tensor host = logits.cpu();
  const auto width = static_cast<size_t>(host.size(1));
  for (size_t i = 0; i < rows.size(); ++i) {
    ids[i] = Sample(std::span(host.data_ptr<float>() + i * width, width), *choosers[i].sampling,
                    *choosers[i].random);
  }
  return ids;
}

}  // namespace natsl::model_adapters::native::cuda
