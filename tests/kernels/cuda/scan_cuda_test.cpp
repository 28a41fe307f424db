// The elementwise scan on the device against its definition.
#include "kernels/cuda/scan.h"
#include "kernels/scan.h"
#include "tests/kernels/cuda/recurrent_support.h"

namespace natsl::kernels::cuda {
namespace {

using namespace testing;
using kernels::testing::Decay;
using kernels::testing::LogDecays;
using kernels::testing::Sum;

class ScanCuda : public CudaTest {};

TEST_F(ScanCuda, LengthsAndPieces) {
  for (const DType dtype : kTypes) {
    for (const int64_t channels : {7, 136}) {
      for (const std::vector<int64_t>& lengths : std::vector<std::vector<int64_t>>{
               {1}, {63}, {64}, {65}, {131}, {3000}, {5, 0, 64, 131, 1}, {1, 1, 1}}) {
        for (const bool steps : {false, true}) {
          if (steps && Sum(lengths) != static_cast<int64_t>(lengths.size())) continue;
          Random random(3);
          const int64_t tokens = Sum(lengths), sequences = static_cast<int64_t>(lengths.size());
          const Floats x = Rounded(dtype, random.Normals(tokens * channels));
          const Floats g = LogDecays(random, tokens * channels, Decay::kMixed);
          std::vector<Floats> before;
          for (int64_t s = 0; s < sequences; ++s) before.push_back(random.Normals(channels));
          const States state(before);
          Floats expected(x.size());
          const std::vector<int64_t> offsets = Offsets(lengths);
          kernels::ScanArgs reference;
          reference.x = x.data();
          reference.g = g.data();
          reference.o = expected.data();
          reference.states = state.reference();
          reference.offsets = offsets.data();
          reference.sequences = sequences;
          reference.channels = channels;
          kernels::RunScanReference(reference);
          const Activations dx(dtype, x), o(dtype, static_cast<int64_t>(x.size()));
          const Array<float> dg(g);
          const PlannedBatch batch(offsets, std::vector<int64_t>(lengths.size(), 0));
          const Slots slots(sequences);
          ScanArgs args;
          args.dtype = dtype;
          args.x = dx.data();
          args.g = dg.data();
          args.o = o.data();
          args.x_stride = args.o_stride = args.channels = channels;
          args.state = state.device();
          args.slots = slots.get();
          args.plan = steps ? nullptr : &batch.plan;
          args.sequences = sequences;
          const Memory workspace(static_cast<size_t>(ScanWorkspaceBytes(args)));
          args.workspace = workspace.data();
          RunScan(args, nullptr);
          Synchronize();
          ExpectNear(o.Values(), expected, Tolerance(dtype), "o");
          for (int64_t s = 0; s < sequences; ++s) {
            if (lengths[s] > 0) state.Expect(s, /*odd=*/true, 2e-5, "state");
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace natsl::kernels::cuda
