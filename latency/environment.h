// The machine a run happens on: processor, cores, frequency, load; and GPUs through NVML.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "latency/record/measurement.h"

namespace natsl::latency {

/// Cores that this process may run on: its affinity, and its control group's quota rounded up.
int64_t UsableCores();

/// Names, sizes, frequency and load as of now (in the *_before fields). GPUs and canaries are left
/// empty.
Machine DescribeHost();
/// Frequency and load again, into the *_after fields.
void ReadHostAgain(Machine& machine);

/// What a run's points compute on. kBoth: a model on a device, and text that the host tokenises.
enum class Computes { kHost, kDevice, kBoth };

/// What is wrong with a run by its machine's readings: "noisy: ...", "throttled: ...". A device is
/// judged by its own canary and counters: there the host's canary and clock say nothing, and its
/// load only where no core is left for the thread that feeds the device.
std::vector<std::string> LabelsOf(const Machine& machine, int64_t threads, Computes computes);

/// Why a GPU is slowed down, where that is its power limit: what long products reach on any day.
inline constexpr const char* kPowerLimit = "power cap";

/// One GPU's counters.
class GpuCounters {
 public:
  virtual ~GpuCounters() = default;
  virtual GpuDescription Describe() const = 0;
  virtual GpuReading Read() const = 0;
  /// Since the driver was loaded; nothing where the GPU doesn't count it.
  virtual std::optional<double> Joules() const = 0;
};

/// The GPU of device "cuda" or "cuda:N" through NVML (libnvidia-ml.so.1, loaded here), where N is
/// the N-th that CUDA_VISIBLE_DEVICES lets through. Null with the reason in `why` where there is
/// none.
std::unique_ptr<GpuCounters> OpenGpuCounters(const std::string& device, std::string& why);

}  // namespace natsl::latency
