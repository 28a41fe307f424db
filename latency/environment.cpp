// The host's side.
#include "latency/environment.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <thread>

#include "latency/host_memory.h"

namespace natsl::latency {
namespace {

// Canaries that differ by more than this, or clocks that fell by more, are told.
constexpr double kCanaryRoom = 0.10;

std::string FirstLine(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// The value behind "key : " in /proc/cpuinfo, of every processor.
std::vector<std::string> CpuInfo(const std::string& key) {
  std::vector<std::string> values;
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    const size_t colon = line.find(':');
    if (!line.starts_with(key) || colon == std::string::npos) continue;
    if (line.find_first_not_of(" \t", key.size()) != colon) continue;
    const size_t begin = line.find_first_not_of(" \t", colon + 1);
    values.push_back(begin == std::string::npos ? "" : line.substr(begin));
  }
  return values;
}

double Megahertz() {
  double sum = 0;
  int64_t count = 0;
  for (int64_t cpu = 0; cpu < 4096; ++cpu) {
    std::ifstream file(fmt::format("/sys/devices/system/cpu/cpu{}/cpufreq/scaling_cur_freq", cpu));
    double kilohertz = 0;
    if (!(file >> kilohertz)) break;
    sum += kilohertz / 1000;
    ++count;
  }
  if (count == 0) {
    for (const std::string& value : CpuInfo("cpu MHz")) {
      sum += std::strtod(value.c_str(), nullptr);
      ++count;
    }
  }
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

double Load() {
  double load = 0;
  return ::getloadavg(&load, 1) == 1 ? load : 0;
}

std::string Change(const std::string& what, double before, double after) {
  return fmt::format("{} changed by {:+.0f} % from the start to the end", what,
                     100 * (after / before - 1));
}

bool Differs(double before, double after) {
  return before > 0 && std::fabs(after / before - 1) > kCanaryRoom;
}

void CompareCanaries(const std::optional<CanaryRates>& before,
                     const std::optional<CanaryRates>& after, const std::string& where,
                     std::vector<std::string>& labels) {
  if (!before || !after) return;
  if (Differs(before->flops_per_second, after->flops_per_second)) {
    labels.push_back("noisy: " + Change("the " + where + "'s matrix product",
                                        before->flops_per_second, after->flops_per_second));
  }
  if (Differs(before->bytes_per_second, after->bytes_per_second)) {
    labels.push_back("noisy: " + Change("the " + where + "'s copy", before->bytes_per_second,
                                        after->bytes_per_second));
  }
}

bool Fell(double before, double after) { return before > 0 && after < before * (1 - kCanaryRoom); }

// Its power limit is told at the points that reach it, and slows the canary down as it does them.
bool AtPowerLimit(const GpuReading& reading) {
  return std::find(reading.throttle_reasons.begin(), reading.throttle_reasons.end(), kPowerLimit) !=
         reading.throttle_reasons.end();
}

void LabelGpu(const Machine& machine, std::vector<std::string>& labels) {
  const auto slowed = [&](const std::optional<GpuReading>& reading, const char* when) {
    if (!reading) return;
    for (const std::string& reason : reading->throttle_reasons) {
      if (reason == kPowerLimit) continue;
      labels.push_back(fmt::format("throttled: {} of the GPU {} the run", reason, when));
    }
  };
  slowed(machine.gpu_before, "before");
  slowed(machine.gpu_after, "after");
  if (machine.gpu_before && machine.gpu_after && !AtPowerLimit(*machine.gpu_after) &&
      Fell(machine.gpu_before->sm_mhz, machine.gpu_after->sm_mhz)) {
    labels.push_back(
        fmt::format("throttled: the GPU's clock fell from {:.0f} to {:.0f} MHz from its first "
                    "canary to its last",
                    machine.gpu_before->sm_mhz, machine.gpu_after->sm_mhz));
  }
}

}  // namespace

int64_t UsableCores() {
  cpu_set_t set;
  int64_t cores = static_cast<int64_t>(std::thread::hardware_concurrency());
  if (::sched_getaffinity(0, sizeof(set), &set) == 0) cores = CPU_COUNT(&set);
  std::ifstream quota("/sys/fs/cgroup/cpu.max");
  double most = 0, period = 0;
  if (quota >> most >> period && most > 0 && period > 0) {
    cores = std::min(cores, static_cast<int64_t>(std::ceil(most / period)));
  }
  return std::max<int64_t>(1, cores);
}

Machine DescribeHost() {
  Machine machine;
  char host[256] = "";
  ::gethostname(host, sizeof(host) - 1);
  machine.host = host;
  machine.boot_id = FirstLine("/proc/sys/kernel/random/boot_id");
  for (const char* key : {"model name", "Model", "Hardware", "CPU part"}) {
    const std::vector<std::string> names = CpuInfo(key);
    if (!names.empty() && machine.cpu.empty()) machine.cpu = names.front();
  }
  machine.governor = FirstLine("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  utsname system{};
  if (::uname(&system) == 0) machine.kernel = fmt::format("{} {}", system.sysname, system.release);
  machine.cores = UsableCores();
  machine.memory_bytes = MachineMemory();
  machine.mhz_before = Megahertz();
  machine.load_before = Load();
  return machine;
}

void ReadHostAgain(Machine& machine) {
  machine.mhz_after = Megahertz();
  machine.load_after = Load();
}

std::vector<std::string> LabelsOf(const Machine& machine, int64_t threads, Computes computes) {
  std::vector<std::string> labels;
  const bool host = computes != Computes::kDevice;
  if (host) CompareCanaries(machine.canary_before, machine.canary_after, "host", labels);
  CompareCanaries(machine.device_before, machine.device_after, "device", labels);
  // Our own threads are in the later average, so that only the earlier one can tell of others.
  const double cores = static_cast<double>(std::max<int64_t>(1, machine.cores));
  if (machine.load_before > (host ? 0.5 * cores : std::max(0.5, cores - 1))) {
    labels.push_back(fmt::format(
        "noisy: the load average was {:.1f} on {} cores before the run ({})", machine.load_before,
        machine.cores,
        host ? fmt::format("its {} threads not in it", threads)
             : std::string("the thread that feeds the device may have had to wait for one")));
  }
  if (host && Fell(machine.mhz_before, machine.mhz_after)) {
    labels.push_back(fmt::format("throttled: the cores' clock fell from {:.0f} to {:.0f} MHz",
                                 machine.mhz_before, machine.mhz_after));
  }
  if (computes != Computes::kHost) LabelGpu(machine, labels);
  return labels;
}

}  // namespace natsl::latency
