// Which instruction sets the processor's kernels have code for, and which this machine runs.
#pragma once

#include <string>
#include <vector>

namespace natsl::kernels {

struct InstructionSets {
  std::vector<std::string> compiled;  ///< Highway's names, best first: "AVX3", "AVX2", ...
  std::string dispatched;             ///< the one of these that this processor gets
  bool amx = false;                   ///< whether matrix products run on its tiles besides
};

InstructionSets DispatchedInstructionSets();

}  // namespace natsl::kernels
