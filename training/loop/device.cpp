// The CPU as a training device, and loading CUDA's with its kernels for the layers.
#include "training/loop/device.h"

#include <ATen/ops/empty.h>
#include <dlfcn.h>

#include <charconv>
#include <filesystem>

#include "core/error.h"
#include "training/layers/device_ops.h"

namespace natsl::training {
namespace {

/// The module's kernels for the layers.
constexpr const char* kCudaTrainingOpsSymbol = "natsl_cuda_training_ops";

class CpuDevice final : public TrainDevice {
 public:
  at::Device device() const override { return at::Device(at::kCPU); }
  std::string Description() const override { return "CPU"; }
  at::Tensor HostBuffer(at::IntArrayRef sizes) const override {
    return at::empty(sizes, at::kLong);
  }
  void Upload(const at::Tensor& host, at::Tensor& target, int64_t) override { target.copy_(host); }
  void WaitUploaded(int64_t) override {}
  std::unique_ptr<std::function<void()>> Record(Body body) override {
    return std::make_unique<std::function<void()>>(std::move(body));
  }
  void AverageOverRanks(at::Tensor&) override {}
  void Synchronize() override {}
  int64_t PeakMemoryBytes() const override { return 0; }
};

/// The module beside this program, or in the lib folder of an installation.
OpenCudaTrainDeviceFunction LoadCuda() {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (error) throw InternalError("cannot find this program's folder: {}", error.message());
  const fs::path folder = program.parent_path();
  for (const fs::path& place :
       {folder / "natsl_train_cuda.so",
        folder.parent_path() / "lib" / "natsl-bench" / "natsl_train_cuda.so"}) {
    if (!fs::exists(place, error)) continue;
    // Global: the module's LibTorch parts register themselves for this program's tensors.
    void* library = dlopen(place.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (library == nullptr) {
      throw UsageError(
          "{} does not load: {}; run scripts/setup --cuda, which fetches the CUDA libraries that "
          "LibTorch needs, or use --device cpu",
          place.string(), dlerror());
    }
    void* symbol = dlsym(library, kOpenCudaTrainDeviceSymbol);
    if (symbol == nullptr) {
      throw InternalError("{} is not a training module of this version", place.string());
    }
    if (void* ops = dlsym(library, kCudaTrainingOpsSymbol)) {
      UseCudaOps(reinterpret_cast<const DeviceOps* (*)()>(ops)());
    }
    return reinterpret_cast<OpenCudaTrainDeviceFunction>(symbol);
  }
  throw UsageError(
      "this build has no CUDA; use --device cpu, or build the target natsl_train_cuda with CMake's "
      "preset cuda (needs nvcc)");
}

}  // namespace

std::unique_ptr<TrainDevice> OpenTrainDevice(const std::string& device, Rank rank,
                                             const std::string& meeting) {
  if (device == "cpu") {
    if (rank.count > 1) throw UsageError("several GPUs were asked for with --device cpu");
    return std::make_unique<CpuDevice>();
  }
  int64_t gpu = 0;
  if (device.starts_with("cuda:")) {
    const char* begin = device.data() + 5;
    const auto [end, error] = std::from_chars(begin, device.data() + device.size(), gpu);
    if (error != std::errc() || end != device.data() + device.size() || gpu < 0) gpu = -1;
  } else if (device != "cuda") {
    gpu = -1;
  }
  if (gpu < 0) throw UsageError("device is \"{}\", expected cpu, cuda or cuda:N", device);
  return std::unique_ptr<TrainDevice>(LoadCuda()(gpu + rank.index, rank, meeting));
}

}  // namespace natsl::training
