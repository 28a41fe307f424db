// Validation of the scan's arguments.
#include "kernels/scan.h"

#include "kernels/mixer_checks.h"

namespace natsl::kernels {

void Validate(const ScanArgs& args) {
  const MixerChecks check("scan");
  check.ActivationType(args.dtype);
  check.Positive(args.channels, "channels");
  if (!check.Sequences(args.offsets, args.sequences, args.states)) return;
  check.Pointer(args.x, "x");
  check.Pointer(args.g, "g");
  check.Pointer(args.o, "o");
}

}  // namespace natsl::kernels
