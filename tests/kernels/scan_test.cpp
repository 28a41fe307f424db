// The gated scan: by hand, and CPU against the reference.
#include "kernels/scan.h"

#include "core/error.h"
#include "tests/kernels/mixer_support.h"

namespace natsl::kernels {
namespace {

using namespace testing;

struct ScanOutcome {
  Floats o;
  std::vector<Floats> states;
};

class ScanProblem {
 public:
  ScanProblem(uint64_t seed, int64_t channels, std::vector<int64_t> lengths, Decay decay)
      : channels_(channels), lengths_(std::move(lengths)) {
    Random random(seed);
    const int64_t tokens = Sum(lengths_);
    x_ = random.Normals(tokens * channels);
    g_ = LogDecays(random, tokens * channels, decay);
    for (size_t s = 0; s < lengths_.size(); ++s) initial_.push_back(random.Normals(channels));
  }

  ScanOutcome Run(void (*kernel)(const ScanArgs&), const std::vector<int64_t>& cuts = {}) const {
    ScanOutcome outcome{Floats(x_.size(), -7.0f), initial_};
    for (const Piece& piece : CutPieces(lengths_, cuts)) {
      const Floats x = Gather(x_, piece.rows, channels_), g = Gather(g_, piece.rows, channels_);
      Floats o(x.size());
      const std::vector<float*> states = Pointers(outcome.states);
      ScanArgs args;
      args.x = x.data();
      args.g = g.data();
      args.o = o.data();
      args.states = states.data();
      args.offsets = piece.offsets.data();
      args.sequences = static_cast<int64_t>(lengths_.size());
      args.channels = channels_;
      if (!piece.rows.empty()) Validate(args);
      kernel(args);
      Scatter(o, piece.rows, channels_, outcome.o);
    }
    return outcome;
  }

  void ExpectCpuMatches(const std::vector<int64_t>& cuts = {}) const {
    const ScanOutcome expected = Run(RunScanReference), actual = Run(RunScanCpu, cuts);
    ExpectClose(actual.o, expected.o, kScanTolerance, "o");
    for (size_t s = 0; s < lengths_.size(); ++s) {
      ExpectClose(actual.states[s], expected.states[s], kScanTolerance, "state");
    }
  }

 private:
  int64_t channels_;
  std::vector<int64_t> lengths_;
  Floats x_, g_;
  std::vector<Floats> initial_;
};

TEST(Scan, EqualsValuesWorkedOutByHand) {
  const float half = std::log(0.5f);
  const Floats x = {1, 2, 3, 4}, g = {0, half, half, -1e4f};
  const int64_t offsets[] = {0, 2};
  for (const auto kernel : {RunScanReference, RunScanCpu}) {
    Floats o(4), state = {10, 20};
    float* states[] = {state.data()};
    ScanArgs args;
    args.x = x.data();
    args.g = g.data();
    args.o = o.data();
    args.states = states;
    args.offsets = offsets;
    args.sequences = 1;
    args.channels = 2;
    Validate(args);
    kernel(args);
    ExpectClose(o, {11, 12, 8.5f, 4}, 1e-7, "o");
    ExpectClose(state, {8.5f, 4}, 1e-7, "state");
  }
}

TEST(Scan, CpuEqualsReference) {
  for (const int64_t length : kLengths) {
    for (const int64_t channels : {1, 16, 37, 200}) {
      for (const Decay decay : kDecays) {
        SCOPED_TRACE(::testing::Message()
                     << "length " << length << " channels " << channels << " decay " << int(decay));
        ScanProblem(1 + length, channels, {length}, decay).ExpectCpuMatches();
      }
    }
  }
}

TEST(Scan, PiecesAndPackedBatches) {
  const ScanProblem problem(2, 100, {5, 0, 64, 131, 1}, Decay::kMixed);
  problem.ExpectCpuMatches();
  problem.ExpectCpuMatches({1, 2, 3, 64, 100});
}

TEST(Scan, SameBytesForAnyTeam) {
  const ScanProblem problem(3, 300, {70, 5}, Decay::kWeak);
  ScanOutcome expected;
  WithThreads(1, [&] { expected = problem.Run(RunScanCpu); });
  for (const int threads : {2, 3, 7, 16}) {
    WithThreads(threads, [&] {
      const ScanOutcome actual = problem.Run(RunScanCpu);
      EXPECT_EQ(actual.o, expected.o) << threads;
      EXPECT_EQ(actual.states, expected.states) << threads;
    });
  }
}

TEST(Scan, ValidateNamesTheArgument) {
  ScanArgs args;
  try {
    Validate(args);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("channels"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace natsl::kernels
