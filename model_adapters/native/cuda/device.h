// Finding a CUDA device, with one clear message for everything that can be wrong with it.
#pragma once

#include <cstdint>
#include <string>

namespace natsl::model_adapters::native::cuda {

/// What is known of the machine; filled by ReadMachine and, in tests, by hand.
struct Machine {
  int driver_version = 0;   ///< as cudaDriverGetVersion gives it (13000 = 13.0); 0: no driver
  int runtime_version = 0;  ///< of the toolkit that this program was built with
  bool libtorch_has_cuda = true;
  int devices = 0;
  int capability = 0;       ///< of the asked device, e.g. 90
  bool kernels_run = true;  ///< the program holds code for the asked device
  int64_t free_bytes = 0, total_bytes = 0;
};

/// The index in "cuda" (0) or "cuda:N".
int DeviceIndex(const std::string& device);

// --- messages, from a Machine alone (machine.cpp: no CUDA, no Torch)

/// Throws Error (usage) saying what keeps `device` from being used and what to do about it.
void CheckMachine(const Machine& machine, const std::string& device);

/// Error (usage) for a model that needs more than the device has free; nothing where it fits.
void CheckMemory(const Machine& machine, int64_t needed_bytes, const std::string& device);

// --- from the machine itself

Machine ReadMachine(const std::string& device);

}  // namespace natsl::model_adapters::native::cuda
