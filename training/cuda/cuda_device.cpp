// CUDA as a training device: one stream, steps recorded as CUDA graphs, pinned buffers. Exported as
// a module, so that natsl-train runs without LibTorch's CUDA libraries where there is no GPU.
#include <ATen/Context.h>
#include <ATen/cuda/CUDAGraph.h>
#include <ATen/ops/empty.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAStream.h>

#include <map>

#include "core/error.h"
#include "training/cuda/nccl.h"
#include "training/loop/device.h"

namespace natsl::training {
namespace {

namespace allocator = c10::cuda::CUDACachingAllocator;

/// Runs as it is at first (libraries load, work spaces are made), then as a graph.
class RecordedStep {
 public:
  explicit RecordedStep(TrainDevice::Body body) : body_(std::move(body)) {}

  void Run() {
    if (runs_ < kFirstRuns) {
      body_();
      ++runs_;
      return;
    }
    if (graph_ == nullptr) {
      auto graph = std::make_unique<at::cuda::CUDAGraph>();
      // Generator threads and NCCL's may call CUDA meanwhile.
      graph->capture_begin({0, 0}, cudaStreamCaptureModeThreadLocal);
      body_();
      graph->capture_end();
      graph_ = std::move(graph);
    }
    graph_->replay();
  }

 private:
  static constexpr int kFirstRuns = 2;
  TrainDevice::Body body_;
  int runs_ = 0;
  std::unique_ptr<at::cuda::CUDAGraph> graph_;
};

class CudaDevice final : public TrainDevice {
 public:
  CudaDevice(int64_t gpu, Rank rank, const std::string& meeting)
      : device_(at::kCUDA, static_cast<c10::DeviceIndex>(gpu)) {
    const int count = c10::cuda::device_count();
    if (gpu >= count) {
      throw UsageError("cuda:{} was asked for, and {}", gpu,
                       count == 0 ? std::string("no GPU is usable here; use --device cpu")
                                  : fmt::format("there are {} GPUs", count));
    }
    c10::cuda::set_device(device_.index());
    at::globalContext().lazyInitDevice(at::kCUDA);
    // Recording needs a stream of its own.
    c10::cuda::setCurrentCUDAStream(c10::cuda::getStreamFromPool(false, device_.index()));
    if (rank.count > 1) group_ = std::make_unique<NcclGroup>(rank, meeting);
  }

  at::Device device() const override { return device_; }

  std::string Description() const override {
    cudaDeviceProp properties;
    if (cudaGetDeviceProperties(&properties, device_.index()) != cudaSuccess) return "CUDA";
    return properties.name;
  }

  at::Tensor HostBuffer(at::IntArrayRef sizes) const override {
    return at::empty(sizes, at::TensorOptions(at::kLong).pinned_memory(true));
  }

  void Upload(const at::Tensor& host, at::Tensor& target, int64_t slot) override {
    target.copy_(host, /*non_blocking=*/true);
    // Waiting for it sleeps: generator threads want the core.
    const auto [event, fresh] =
        events_.try_emplace(slot, cudaEventDisableTiming | cudaEventBlockingSync);
    event->second.record(c10::cuda::getCurrentCUDAStream(device_.index()));
  }

  void WaitUploaded(int64_t slot) override { events_.at(slot).synchronize(); }

  std::unique_ptr<std::function<void()>> Record(Body body) override {
    allocator::emptyCache();
    auto step = std::make_shared<RecordedStep>(std::move(body));
    return std::make_unique<std::function<void()>>([step] { step->Run(); });
  }

  void AverageOverRanks(at::Tensor& sum) override {
    if (group_ == nullptr) return;
    group_->Average(sum.mutable_data_ptr<float>(), sum.numel(),
                    c10::cuda::getCurrentCUDAStream(device_.index()).stream());
  }

  void Synchronize() override { c10::cuda::getCurrentCUDAStream(device_.index()).synchronize(); }

  int64_t PeakMemoryBytes() const override {
    return allocator::getDeviceStats(device_.index()).reserved_bytes[0].peak;
  }

 private:
  at::Device device_;
  std::map<int64_t, c10::cuda::CUDAEvent> events_;
  std::unique_ptr<NcclGroup> group_;
};

}  // namespace
}  // namespace natsl::training

extern "C" natsl::training::TrainDevice* natsl_open_cuda_train_device(int64_t gpu,
                                                                      natsl::training::Rank rank,
                                                                      const std::string& meeting) {
  return new natsl::training::CudaDevice(gpu, rank, meeting);
}
