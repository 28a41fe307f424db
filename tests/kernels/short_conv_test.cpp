// Short convolution: the definition against hand-made values, the processor against the definition,
// sequences cut anywhere with the tail carried on.
#include "kernels/short_conv.h"

#include "core/error.h"
#include "tests/kernels/dense_support.h"

namespace natsl::kernels::testing {
namespace {

struct Outcome {
  Floats y;
  Floats tails;
};

using Kernel = void (*)(const ShortConvArgs&);

/// A batch with its inputs fixed by the seed; runs it cut in pieces.
class ConvBatch {
 public:
  ConvBatch(uint64_t seed, std::vector<int64_t> lengths, int64_t channels, int64_t width)
      : lengths_(std::move(lengths)), channels_(channels), width_(width) {
    Random random(seed);
    x_ = random.Normals(testing::Sum(lengths_) * channels);
    weight_ = random.Normals(channels * width);
    bias_ = random.Normals(channels);
    for (size_t s = 0; s < lengths_.size(); ++s) {
      tails_.push_back(random.Normals((width - 1) * channels));
    }
  }

  Outcome Run(Kernel kernel, const std::vector<int64_t>& cuts, ActivationKind activation,
              bool with_bias) const {
    std::vector<Floats> tails = tails_;
    const std::vector<float*> pointers = Pointers(tails);
    Outcome outcome;
    outcome.y.resize(x_.size());
    for (const Piece& piece : CutPieces(lengths_, cuts)) {
      const auto rows = static_cast<int64_t>(piece.rows.size());
      Matrix x(rows, channels_, 3);
      Matrix y(rows, channels_, 1);
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t c = 0; c < channels_; ++c) {
          x.At(r, c) = x_[static_cast<size_t>(piece.rows[static_cast<size_t>(r)] * channels_ + c)];
        }
      }
      ShortConvArgs args;
      args.x = x.data();
      args.x_stride = x.stride();
      args.weight = weight_.data();
      if (with_bias) args.bias = bias_.data();
      args.activation = activation;
      args.y = y.data();
      args.y_stride = y.stride();
      args.tails = pointers.data();
      args.offsets = piece.offsets.data();
      args.sequences = static_cast<int64_t>(lengths_.size());
      args.channels = channels_;
      args.width = width_;
      Validate(args);
      kernel(args);
      Scatter(y.Values(), piece.rows, channels_, outcome.y);
    }
    for (const Floats& tail : tails) Append(outcome.tails, tail);
    return outcome;
  }

 private:
  std::vector<int64_t> lengths_;
  int64_t channels_, width_;
  Floats x_, weight_, bias_;
  std::vector<Floats> tails_;
};

TEST(ShortConvReference, HandValues) {
  // Two channels, width 3; the tail holds x[-2], x[-1].
  const Floats x = {1, 10, 2, 20};
  const Floats weight = {1, 2, 3, 0, 1, -1};
  const Floats bias = {100, 0};
  Floats tail = {5, 50, 6, 60};
  Floats y(4);
  float* tails[] = {tail.data()};
  const std::vector<int64_t> offsets = {0, 2};
  ShortConvArgs args;
  args.x = x.data();
  args.x_stride = 2;
  args.weight = weight.data();
  args.bias = bias.data();
  args.activation = ActivationKind::kIdentity;
  args.y = y.data();
  args.y_stride = 2;
  args.tails = tails;
  args.offsets = offsets.data();
  args.sequences = 1;
  args.channels = 2;
  args.width = 3;
  Validate(args);
  RunShortConvReference(args);
  // 100 + 5 + 2*6 + 3*1, 60 - 10, 100 + 6 + 2*1 + 3*2, 10 - 20
  EXPECT_EQ(y, (Floats{120, 50, 114, -10}));
  EXPECT_EQ(tail, (Floats{1, 10, 2, 20}));
  args.bias = nullptr;
  args.activation = ActivationKind::kSilu;
  tail = {0, 0, 0, 0};
  RunShortConvReference(args);
  EXPECT_FLOAT_EQ(y[0], 3.0F / (1.0F + std::exp(-3.0F)));
}

TEST(ShortConvReference, ShorterThanTheTail) {
  const Floats x = {7};
  const Floats weight = {1, 10, 100, 1000};
  Floats tail = {1, 2, 3};
  Floats y(1);
  float* tails[] = {tail.data()};
  const std::vector<int64_t> offsets = {0, 1};
  ShortConvArgs args;
  args.x = x.data();
  args.weight = weight.data();
  args.activation = ActivationKind::kIdentity;
  args.y = y.data();
  args.tails = tails;
  args.offsets = offsets.data();
  args.sequences = args.channels = 1;
  args.width = 4;
  Validate(args);
  RunShortConvReference(args);
  EXPECT_EQ(y, (Floats{7321}));
  EXPECT_EQ(tail, (Floats{2, 3, 7}));
}

TEST(ShortConvCpu, AgreesWithReference) {
  ForEachTarget([](const std::string& target) {
    for (const int64_t width : {1, 2, 3, 4, 7}) {
      for (const int64_t channels : {1, 24, 64, 131, 600}) {
        const ConvBatch batch(1, {0, 1, 2, 63, 64, 65, 131}, channels, width);
        for (const bool plain : {false, true}) {
          const auto kind = plain ? ActivationKind::kIdentity : ActivationKind::kSilu;
          const Outcome actual = batch.Run(RunShortConvCpu, {}, kind, plain);
          const Outcome expected = batch.Run(RunShortConvReference, {}, kind, plain);
          ExpectClose(actual.y, expected.y, kShortConvTolerance,
                      target + " width " + std::to_string(width));
          EXPECT_EQ(actual.tails, expected.tails);
        }
      }
    }
  });
}

TEST(ShortConvCpu, SameBytesWhereverCut) {
  for (const int64_t width : {2, 4, 6}) {
    const ConvBatch batch(2, {1000, 0, 3, 131}, 40, width);
    const Outcome whole = batch.Run(RunShortConvCpu, {}, ActivationKind::kSilu, true);
    for (const std::vector<int64_t>& cuts : std::vector<std::vector<int64_t>>{
             {1}, {1, 2}, {1, 2, 3, 4}, {64}, {63, 65, 130}, {128, 129, 256, 999}}) {
      const Outcome pieces = batch.Run(RunShortConvCpu, cuts, ActivationKind::kSilu, true);
      EXPECT_EQ(pieces.y, whole.y);
      EXPECT_EQ(pieces.tails, whole.tails);
    }
  }
}

TEST(ShortConvCpu, SameBytesForAnyTeam) {
  ExpectSameBytesForAnyTeam([] {
    const ConvBatch batch(3, {1000, 5, 131}, 600, 4);
    Outcome outcome = batch.Run(RunShortConvCpu, {}, ActivationKind::kSilu, true);
    Append(outcome.y, outcome.tails);
    return outcome.y;
  });
}

TEST(ShortConvValidate, NamesTheArgument) {
  const std::vector<int64_t> offsets = {0, 3, 2};
  ShortConvArgs args;
  args.channels = args.width = 1;
  args.sequences = 2;
  args.offsets = offsets.data();
  try {
    Validate(args);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "short conv: offsets[2] is 2, expected >= offsets[1] = 3");
  }
}

}  // namespace
}  // namespace natsl::kernels::testing
