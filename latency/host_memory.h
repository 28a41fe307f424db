// Memory of this process and of the machine, from /proc and the control group.
#pragma once

#include <cstdint>
#include <optional>

namespace natsl::latency {

/// Resident bytes now, and the most since the last reset; nothing where /proc doesn't tell.
struct ProcessMemory {
  int64_t resident_bytes = 0, peak_bytes = 0;
};
std::optional<ProcessMemory> ReadProcessMemory();

/// Sets the high-water mark to what is resident now; false where the kernel doesn't allow it.
bool ResetPeakMemory();

/// Gives freed memory back to the system, so that what is resident is what is in use.
void TrimHeap();

/// What this process may still allocate: the machine's available memory, or what is left of the
/// control group's limit where that is less. Nothing where neither is known.
std::optional<int64_t> AvailableMemory();

/// The machine's memory; 0 where unknown.
int64_t MachineMemory();

}  // namespace natsl::latency
