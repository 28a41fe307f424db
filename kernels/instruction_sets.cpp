// Highway's targets of this build, and its choice on this machine.
#include "kernels/instruction_sets.h"

// Which targets there are stands before Highway's own choice of them.
// clang-format off
#include "kernels/cpu/mixer_targets.h"
#include <hwy/targets.h>
// clang-format on

#include "kernels/cpu/amx.h"

namespace natsl::kernels {

InstructionSets DispatchedInstructionSets() {
  InstructionSets sets;
  const int64_t supported = hwy::SupportedTargets();
  // The lower the bit, the better the target.
  for (int bit = 0; bit < 63; ++bit) {
    const int64_t target = int64_t{1} << bit;
    if ((HWY_TARGETS & target) == 0) continue;
    sets.compiled.emplace_back(hwy::TargetName(target));
    if (sets.dispatched.empty() && (supported & target) != 0) {
      sets.dispatched = sets.compiled.back();
    }
  }
  sets.amx = AmxUsable();
  return sets;
}

}  // namespace natsl::kernels
