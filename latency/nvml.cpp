// GPU counters through NVML. The library comes with the driver: it is loaded where it is present,
// and the few functions used are declared here by their published signatures.
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include "latency/environment.h"

namespace natsl::latency {
namespace {

using Device = void*;
struct MemoryInfo {
  unsigned long long total, free, used;
};

struct Reason {
  unsigned long long bit;
  const char* name;
};
// nvmlClocksThrottleReason*: those that slow down work; idle and fixed application clocks don't.
constexpr Reason kReasons[] = {{0x4, kPowerLimit},
                               {0x8, "hardware slowdown"},
                               {0x20, "thermal slowdown (software)"},
                               {0x40, "thermal slowdown (hardware)"},
                               {0x80, "power brake"}};

/// The functions; null where a driver's library lacks one.
struct Library {
  int (*init)() = nullptr;
  int (*by_index)(unsigned, Device*) = nullptr;
  int (*by_uuid)(const char*, Device*) = nullptr;
  int (*name)(Device, char*, unsigned) = nullptr;
  int (*uuid)(Device, char*, unsigned) = nullptr;
  int (*driver)(char*, unsigned) = nullptr;
  int (*memory)(Device, MemoryInfo*) = nullptr;
  int (*clock)(Device, int, unsigned*) = nullptr;
  int (*highest_clock)(Device, int, unsigned*) = nullptr;
  int (*power)(Device, unsigned*) = nullptr;
  int (*temperature)(Device, int, unsigned*) = nullptr;
  int (*reasons)(Device, unsigned long long*) = nullptr;
  int (*energy)(Device, unsigned long long*) = nullptr;
};

template <typename Function>
void Find(void* handle, const char* symbol, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(handle, symbol));
}

// Null where there is no usable NVML. Initialised once and kept until the process ends.
const Library* LoadLibrary() {
  static const Library* loaded = []() -> const Library* {
    void* handle = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) return nullptr;
    static Library library;
    Find(handle, "nvmlInit_v2", library.init);
    Find(handle, "nvmlDeviceGetHandleByIndex_v2", library.by_index);
    Find(handle, "nvmlDeviceGetHandleByUUID", library.by_uuid);
    Find(handle, "nvmlDeviceGetName", library.name);
    Find(handle, "nvmlDeviceGetUUID", library.uuid);
    Find(handle, "nvmlSystemGetDriverVersion", library.driver);
    Find(handle, "nvmlDeviceGetMemoryInfo", library.memory);
    Find(handle, "nvmlDeviceGetClockInfo", library.clock);
    Find(handle, "nvmlDeviceGetMaxClockInfo", library.highest_clock);
    Find(handle, "nvmlDeviceGetPowerUsage", library.power);
    Find(handle, "nvmlDeviceGetTemperature", library.temperature);
    Find(handle, "nvmlDeviceGetCurrentClocksThrottleReasons", library.reasons);
    Find(handle, "nvmlDeviceGetTotalEnergyConsumption", library.energy);
    if (library.init == nullptr || library.by_index == nullptr || library.init() != 0) {
      return nullptr;
    }
    return &library;
  }();
  return loaded;
}

// nvmlClockType_t
constexpr int kSm = 1, kMemory = 2;

class NvmlGpu final : public GpuCounters {
 public:
  NvmlGpu(const Library& library, Device device) : library_(library), device_(device) {}

  GpuDescription Describe() const override {
    GpuDescription gpu;
    char text[128] = "";
    if (Call(library_.name, device_, text, 128U)) gpu.name = text;
    if (Call(library_.uuid, device_, text, 128U)) gpu.uuid = text;
    if (Call(library_.driver, text, 128U)) gpu.driver = text;
    MemoryInfo memory{};
    if (Call(library_.memory, device_, &memory)) {
      gpu.memory_bytes = static_cast<int64_t>(memory.total);
    }
    unsigned megahertz = 0;
    if (Call(library_.highest_clock, device_, kSm, &megahertz)) gpu.highest_sm_mhz = megahertz;
    return gpu;
  }

  GpuReading Read() const override {
    constexpr int kGpuSensor = 0;
    GpuReading reading;
    unsigned value = 0;
    if (Call(library_.clock, device_, kSm, &value)) reading.sm_mhz = value;
    if (Call(library_.clock, device_, kMemory, &value)) reading.memory_mhz = value;
    if (Call(library_.power, device_, &value)) reading.watts = value / 1000.0;
    if (Call(library_.temperature, device_, kGpuSensor, &value)) reading.celsius = value;
    unsigned long long reasons = 0;
    if (Call(library_.reasons, device_, &reasons)) {
      for (const Reason& reason : kReasons) {
        if (reasons & reason.bit) reading.throttle_reasons.emplace_back(reason.name);
      }
    }
    return reading;
  }

  std::optional<double> Joules() const override {
    unsigned long long millijoules = 0;
    if (!Call(library_.energy, device_, &millijoules)) return std::nullopt;
    return static_cast<double>(millijoules) / 1000;
  }

 private:
  template <typename Function, typename... Arguments>
  static bool Call(Function function, Arguments... arguments) {
    return function != nullptr && function(arguments...) == 0;
  }

  const Library& library_;
  Device device_;
};

// What CUDA's device `ordinal` is to NVML: an index, or the id that CUDA_VISIBLE_DEVICES names.
std::string VisibleDevice(unsigned ordinal) {
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (visible == nullptr) return fmt::format("{}", ordinal);
  std::string_view list = visible;
  for (unsigned i = 0;; ++i) {
    const size_t comma = std::min(list.find(','), list.size());
    if (i == ordinal) return std::string(list.substr(0, comma));
    if (comma == list.size()) return "";
    list.remove_prefix(comma + 1);
  }
}

}  // namespace

std::unique_ptr<GpuCounters> OpenGpuCounters(const std::string& device, std::string& why) {
  if (!device.starts_with("cuda")) {
    why = "the model runs on " + device;
    return nullptr;
  }
  const Library* library = LoadLibrary();
  if (library == nullptr) {
    why = "NVML (libnvidia-ml.so.1) is not present or doesn't start";
    return nullptr;
  }
  unsigned ordinal = 0;
  if (device.size() > 5) std::from_chars(device.data() + 5, device.data() + device.size(), ordinal);
  const std::string visible = VisibleDevice(ordinal);
  unsigned index = 0;
  const auto [end, error] = std::from_chars(visible.data(), visible.data() + visible.size(), index);
  Device handle = nullptr;
  const bool numbered =
      !visible.empty() && error == std::errc() && end == visible.data() + visible.size();
  const bool found = numbered ? library->by_index(index, &handle) == 0
                              : !visible.empty() && library->by_uuid != nullptr &&
                                    library->by_uuid(visible.c_str(), &handle) == 0;
  if (!found) {
    why = fmt::format("NVML doesn't know the device \"{}\"", device);
    return nullptr;
  }
  return std::make_unique<NvmlGpu>(*library, handle);
}

}  // namespace natsl::latency
