// What follows from the state of a machine. No CUDA here: tests link it anywhere.
#include "core/error.h"
#include "model_adapters/native/cuda/device.h"

namespace natsl::model_adapters::native::cuda {
namespace {

constexpr int kOldestCapability = 80;
constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;

std::string Version(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

}  // namespace

int DeviceIndex(const std::string& device) {
  return device.size() > 5 ? std::stoi(device.substr(5)) : 0;
}

void CheckMachine(const Machine& machine, const std::string& device) {
  if (machine.driver_version == 0) {
    throw UsageError(
        "device is \"{}\", but this machine has no NVIDIA driver; use --device cpu, or a machine "
        "with an NVIDIA GPU",
        device);
  }
  if (machine.driver_version / 1000 < machine.runtime_version / 1000) {
    throw UsageError(
        "the NVIDIA driver here supports CUDA up to {}, but natsl-bench was built with CUDA {}; "
        "install a newer driver",
        Version(machine.driver_version), Version(machine.runtime_version));
  }
  if (machine.devices == 0) {
    throw UsageError(
        "device is \"{}\", but there is no NVIDIA GPU here (or CUDA_VISIBLE_DEVICES hides it); use "
        "--device cpu",
        device);
  }
  if (!machine.libtorch_has_cuda) {
    throw UsageError(
        "device is \"{}\", but the LibTorch that was loaded has no CUDA; run scripts/setup --cuda, "
        "which fetches one that has",
        device);
  }
  const int index = DeviceIndex(device);
  if (index >= machine.devices) {
    throw UsageError("device is \"{}\", but there are {} GPUs here: expected cuda:0 to cuda:{}",
                     device, machine.devices, machine.devices - 1);
  }
  if (machine.capability < kOldestCapability) {
    throw UsageError(
        "the GPU of \"{}\" has compute capability {}.{}, and natsl-bench needs {}.{} (A100) or "
        "later; use --device cpu",
        device, machine.capability / 10, machine.capability % 10, kOldestCapability / 10,
        kOldestCapability % 10);
  }
  if (!machine.kernels_run) {
    throw UsageError(
        "natsl-bench was not built for the GPU of \"{}\" (compute capability {}.{}); run "
        "scripts/setup --cuda on this machine, which builds for the GPU it finds",
        device, machine.capability / 10, machine.capability % 10);
  }
}

void CheckMemory(const Machine& machine, int64_t needed_bytes, const std::string& device) {
  if (needed_bytes <= machine.free_bytes) return;
  const double needed = static_cast<double>(needed_bytes) / kGiB;
  const double free = static_cast<double>(machine.free_bytes) / kGiB;
  const double total = static_cast<double>(machine.total_bytes) / kGiB;
  if (needed_bytes <= machine.total_bytes * 9 / 10) {
    throw UsageError(
        "the model needs {:.1f} GiB on \"{}\", but only {:.1f} of its {:.1f} GiB are free: another "
        "process holds the rest (nvidia-smi names it); end it or choose another device",
        needed, device, free, total);
  }
  throw UsageError(
      "the model needs {:.1f} GiB on \"{}\", which has {:.1f} GiB; use a larger GPU or --device "
      "cpu",
      needed, device, total);
}

}  // namespace natsl::model_adapters::native::cuda
