// Norms, short convolution, elementwise operations and what reads logits, on the device against
// their definitions.
#include "kernels/cuda/elementwise.h"
#include "kernels/cuda/norm.h"
#include "kernels/cuda/sampling.h"
#include "kernels/cuda/short_conv.h"
#include "kernels/rope.h"
#include "kernels/short_conv.h"
#include "tests/kernels/cuda/cuda_support.h"

namespace natsl::kernels::cuda {
namespace {

using namespace testing;

class NormCuda : public CudaTest {};
class ConvCuda : public CudaTest {};
class ElementwiseCuda : public CudaTest {};
class SamplingCuda : public CudaTest {};

TEST_F(NormCuda, EveryOpWidthAndFusion) {
  for (const DType dtype : kTypes) {
    for (const int64_t width : {1, 20, 64, 96, 128, 256, 1000, 1024, 2048, 5000}) {
      for (const NormOp op : {NormOp::kRms, NormOp::kRmsOnePlus, NormOp::kLayer, NormOp::kL2}) {
        for (const int fusion : {0, 1, 2, 3}) {
          SCOPED_TRACE(::testing::Message() << core::Name(dtype) << " width " << width << " op "
                                            << int(op) << " fusion " << fusion);
          Random random(static_cast<uint64_t>(width));
          const int64_t rows = 5, groups = width > 1000 ? 1 : 3, columns = groups * width;
          const Floats x = Rounded(dtype, random.Normals(rows * columns));
          const Floats r = Rounded(dtype, random.Normals(rows * columns));
          const Floats gate = Rounded(dtype, random.Normals(rows * columns));
          const Floats weight = random.Normals(columns), bias = random.Normals(columns);
          Floats y(x.size()), sum(x.size());
          NormArgs a;
          a.op = op;
          a.x = x.data();
          a.x_stride = a.residual_stride = a.gate_stride = a.y_stride = columns;
          if (fusion == 1) {
            a.residual = r.data();
            a.sum = sum.data();
          }
          if (fusion >= 2) a.gate = gate.data();
          if (fusion == 3) a.gate_order = GateOrder::kGateFirst;
          if (op != NormOp::kL2) a.weight = weight.data();
          if (op == NormOp::kLayer) a.bias = bias.data();
          a.weight_per_group = fusion == 2;
          a.y = y.data();
          a.rows = rows;
          a.groups = groups;
          a.width = width;
          a.scale = 0.5;
          RunNormReference(a);
          const Activations dx(dtype, x), dr(dtype, r), dgate(dtype, gate);
          const Activations dy(dtype, rows * columns), dsum(dtype, rows * columns);
          const Array<float> dweight(weight), dbias(bias);
          a.dtype = dtype;
          a.x = dx.data();
          if (a.residual != nullptr) a.residual = dr.data();
          if (a.sum != nullptr) a.sum = dsum.data();
          if (a.gate != nullptr) a.gate = dgate.data();
          if (a.weight != nullptr) a.weight = dweight.data();
          if (a.bias != nullptr) a.bias = dbias.data();
          a.y = dy.data();
          RunNorm(a, nullptr);
          Synchronize();
          ExpectNear(dy.Values(), y, Tolerance(dtype), "y");
          if (fusion == 1) ExpectNear(dsum.Values(), sum, Tolerance(dtype), "sum");
        }
      }
    }
  }
}

TEST_F(NormCuda, Merge) {
  for (const DType dtype : kTypes) {
    for (const int64_t width : {24, 128, 100}) {
      Random random(7);
      const int64_t rows = 9, groups = 5, count = rows * groups * width;
      const Floats x1 = Rounded(dtype, random.Normals(count)),
                   x2 = Rounded(dtype, random.Normals(count)),
                   gate = Rounded(dtype, random.Normals(count)),
                   mix = random.Uniforms(rows * groups * 2, 0, 1), w1 = random.Normals(width),
                   w2 = random.Normals(width);
      Floats y(x1.size());
      MergeNormArgs a{DType::kFloat32, x1.data(),  x2.data(), gate.data(),
                      groups * width,  mix.data(), w1.data(), w2.data(),
                      y.data(),        rows,       groups,    width};
      RunMergeNormReference(a);
      const Activations d1(dtype, x1), d2(dtype, x2), dgate(dtype, gate), dy(dtype, count);
      const Array<float> dmix(mix), dw1(w1), dw2(w2);
      a = {dtype,      d1.data(),  d2.data(), dgate.data(), groups * width, dmix.data(),
           dw1.data(), dw2.data(), dy.data(), rows,         groups,         width};
      RunMergeNorm(a, nullptr);
      Synchronize();
      ExpectNear(dy.Values(), y, Tolerance(dtype), "y");
    }
  }
}

TEST_F(ConvCuda, LengthsWidthsAndSteps) {
  for (const DType dtype : kTypes) {
    for (const int64_t width : {1, 2, 4}) {
      for (const int64_t channels : {9, 64, 1100}) {
        for (const std::vector<int64_t>& lengths : std::vector<std::vector<int64_t>>{
                 {1}, {15}, {16}, {17}, {200}, {3, 0, 1, 40, 2, 0}, {1, 1, 1}}) {
          Random random(11);
          std::vector<int64_t> offsets = {0};
          for (const int64_t n : lengths) offsets.push_back(offsets.back() + n);
          const int64_t tokens = offsets.back(), sequences = static_cast<int64_t>(lengths.size());
          const Floats x = Rounded(dtype, random.Normals(tokens * channels));
          const Floats weight = random.Normals(channels * width), bias = random.Normals(channels);
          std::vector<Floats> tails;
          Floats all;
          for (int64_t s = 0; s < sequences; ++s) {
            tails.push_back(random.Normals((width - 1) * channels + 1));
            all.insert(all.end(), tails.back().begin(), tails.back().end() - 1);
          }
          const std::vector<float*> pointers = kernels::testing::Pointers(tails);
          Floats y(x.size());
          kernels::ShortConvArgs reference;
          reference.x = x.data();
          reference.x_stride = reference.y_stride = reference.channels = channels;
          reference.weight = weight.data();
          reference.bias = bias.data();
          reference.y = y.data();
          reference.tails = pointers.data();
          reference.offsets = offsets.data();
          reference.sequences = sequences;
          reference.width = width;
          RunShortConvReference(reference);
          const Activations dx(dtype, x);
          const Array<float> dweight(weight), dbias(bias);
          const Array<int64_t> doffsets(offsets);
          for (const bool step : {false, true}) {
            if (step && tokens != sequences) continue;
            const Activations dy(dtype, tokens * channels);
            const Array<float> dtails(all);
            ShortConvArgs a;
            a.dtype = dtype;
            a.x = dx.data();
            a.x_stride = a.y_stride = a.channels = channels;
            a.weight = dweight.data();
            a.bias = dbias.data();
            a.y = dy.data();
            a.tails = dtails.data();
            a.offsets = step ? nullptr : doffsets.data();
            a.sequences = sequences;
            a.tokens = tokens;
            a.width = width;
            RunShortConv(a, nullptr);
            Synchronize();
            ExpectNear(dy.Values(), y, Tolerance(dtype), "y");
            Floats expected;
            for (const Floats& tail : tails) {
              expected.insert(expected.end(), tail.begin(), tail.end() - 1);
            }
            ExpectNear(dtails.Values(), expected, 1e-6, "tails");
          }
        }
      }
    }
  }
}

TEST_F(ConvCuda, TokenShift) {
  for (const DType dtype : kTypes) {
    Random random(12);
    const std::vector<int64_t> offsets = {0, 5, 5, 6};
    const int64_t channels = 33;
    const Floats x = Rounded(dtype, random.Normals(6 * channels)),
                 tails = random.Normals(3 * channels);
    const Activations dx(dtype, x), difference(dtype, 6 * channels);
    const Array<float> dtails(tails);
    const Array<int64_t> doffsets(offsets);
    TokenShiftArgs a;
    a.dtype = dtype;
    a.x = dx.data();
    a.x_stride = a.channels = channels;
    a.difference = difference.data();
    a.tails = dtails.data();
    a.offsets = doffsets.data();
    a.sequences = 3;
    a.tokens = 6;
    RunTokenShift(a, nullptr);
    Synchronize();
    Floats expected(x.size()), after = tails;
    for (int64_t r = 0; r < 6; ++r) {
      for (int64_t i = 0; i < channels; ++i) {
        const float previous = r == 0   ? tails[i]
                               : r == 5 ? tails[2 * channels + i]
                                        : x[(r - 1) * channels + i];
        expected[r * channels + i] = previous - x[r * channels + i];
        after[(r < 5 ? 0 : 2) * channels + i] = x[r * channels + i];
      }
    }
    ExpectNear(difference.Values(), expected, Tolerance(dtype), "difference");
    ExpectNear(dtails.Values(), after, 1e-6, "tails");
  }
}

double Sigma(double x) { return 1 / (1 + std::exp(-x)); }

TEST_F(ElementwiseCuda, GatesAndActivations) {
  for (const DType dtype : kTypes) {
    for (const int64_t columns : {6, 64}) {
      Random random(13);
      const int64_t rows = 37, count = rows * columns;
      const double tolerance = Tolerance(dtype);
      const Floats x = Rounded(dtype, random.Normals(count, 3)),
                   z = Rounded(dtype, random.Normals(count)), bias = random.Normals(columns),
                   bound = random.Uniforms(columns, 0, 0.9f), a = random.Uniforms(columns, -16, 0);
      const Activations dx(dtype, x), dz(dtype, z), y(dtype, count);
      const Array<float> dbias(bias), dbound(bound), da(a), g(count), beta(count);
      Floats expected(x.size()), expected_g(x.size()), expected_beta(x.size());
      const auto fill = [&](Floats& to, const auto& value) {
        for (int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(value(i, i % columns));
      };

      RunActivation({Unary::kSilu, dtype, dtype, dx.data(), columns, nullptr, dz.data(), columns,
                     y.data(), columns, rows, columns},
                    nullptr);
      Synchronize();
      fill(expected, [&](int64_t i, int64_t) { return x[i] * Sigma(x[i]) * z[i]; });
      ExpectNear(y.Values(), expected, tolerance, "swiglu");

      RunActivation({Unary::kLogSigmoid, dtype, DType::kFloat32, dx.data(), columns, dbias.data(),
                     nullptr, 0, g.data(), columns, rows, columns, 1.0 / 16, -0.2},
                    nullptr);
      Synchronize();
      fill(expected, [&](int64_t i, int64_t c) {
        return std::max(-0.2, std::log(Sigma(static_cast<double>(x[i]) + bias[c])) / 16);
      });
      ExpectNear(g.Values(), expected, 2e-5, "log sigmoid");

      RunDeltaGates({dtype, dx.data(), columns, dz.data(), columns, da.data(), dbias.data(), 2,
                     g.data(), beta.data(), rows, columns},
                    nullptr);
      Synchronize();
      fill(expected_g, [&](int64_t i, int64_t c) {
        return a[c] * std::log1p(std::exp(static_cast<double>(x[i]) + bias[c]));
      });
      fill(expected_beta, [&](int64_t i, int64_t) { return 2 * Sigma(z[i]); });
      ExpectNear(g.Values(), expected_g, 2e-5, "g");
      ExpectNear(beta.Values(), expected_beta, 2e-5, "beta");

      RunForgetGate({dtype, dx.data(), columns, dz.data(), columns, dbound.data(), g.data(),
                     y.data(), rows, columns},
                    nullptr);
      Synchronize();
      const auto forget = [&](int64_t i, int64_t c) {
        return std::log(bound[c] + (1 - static_cast<double>(bound[c])) * Sigma(x[i]));
      };
      fill(expected_g, forget);
      fill(expected,
           [&](int64_t i, int64_t c) { return z[i] * Sigma(z[i]) * (1 - std::exp(forget(i, c))); });
      ExpectNear(g.Values(), expected_g, 2e-5, "forget gate");
      ExpectNear(y.Values(), expected, tolerance, "open gate");

      CombineArgs combine;
      combine.dtype = dtype;
      combine.x = dx.data();
      combine.z = dz.data();
      combine.y = y.data();
      combine.x_stride = combine.z_stride = combine.y_stride = combine.columns = columns;
      combine.rows = rows;
      combine.mix = dbias.data();
      RunCombine(combine, nullptr);
      Synchronize();
      fill(expected, [&](int64_t i, int64_t c) { return x[i] + bias[c] * z[i]; });
      ExpectNear(y.Values(), expected, tolerance, "combine");
    }
  }
}

TEST_F(ElementwiseCuda, NanStaysOne) {
  constexpr int64_t kColumns = 64, kBroken = 5;
  for (const DType dtype : kTypes) {
    Random random(17);
    Floats x = random.Normals(kColumns);
    x[kBroken] = NAN;
    const Activations dx(dtype, x), y(dtype, kColumns);
    const Array<float> bias(random.Normals(kColumns)), bound(Floats(kColumns, 0.3f)), g(kColumns);
    const auto expect_one = [&](const Floats& values, const char* what) {
      for (int64_t i = 0; i < kColumns; ++i) {
        EXPECT_EQ(std::isnan(values[i]), i == kBroken) << what << " " << i;
      }
    };
    for (int op = 0; op <= static_cast<int>(Unary::kNegativeExp); ++op) {
      RunActivation({static_cast<Unary>(op), dtype, dtype, dx.data(), kColumns, nullptr, nullptr, 0,
                     y.data(), kColumns, 1, kColumns, 1, -0.2},
                    nullptr);
      Synchronize();
      expect_one(y.Values(), ("activation " + std::to_string(op)).c_str());
    }
    RunForgetGate(
        {dtype, dx.data(), kColumns, nullptr, 0, bound.data(), g.data(), y.data(), 1, kColumns},
        nullptr);
    Synchronize();
    expect_one(g.Values(), "forget gate");
    expect_one(y.Values(), "open gate");
    // As many heads of one channel.
    const Activations ones(dtype, Floats(kColumns, 1.0f));
    RunMamba2Gates({dtype, dx.data(), kColumns, bias.data(), bound.data(), ones.data(), kColumns,
                    g.data(), y.data(), 1, kColumns, 1, 0.3, 2},
                   nullptr);
    Synchronize();
    expect_one(g.Values(), "decay");
    expect_one(y.Values(), "step");
  }
}

TEST_F(ElementwiseCuda, Mamba2AndRope) {
  for (const DType dtype : kTypes) {
    Random random(14);
    const int64_t rows = 21, heads = 4, width = 16, count = rows * heads * width;
    const Floats raw = Rounded(dtype, random.Normals(rows * heads)),
                 x = Rounded(dtype, random.Normals(count)), bias = random.Normals(heads),
                 a = random.Uniforms(heads, -4, 0), skip = random.Normals(heads);
    const Activations draw(dtype, raw), dx(dtype, x), v(dtype, count);
    const Array<float> dbias(bias), da(a), g(rows * heads), dskip(skip);
    RunMamba2Gates({dtype, draw.data(), heads, dbias.data(), da.data(), dx.data(), heads * width,
                    g.data(), v.data(), rows, heads, width, 0.3, 2},
                   nullptr);
    RunSkip({dtype, dx.data(), heads * width, dskip.data(), false, v.data(), rows, heads, width},
            nullptr);
    Synchronize();
    Floats expected_g, expected_v;
    for (int64_t i = 0; i < rows * heads; ++i) {
      const int64_t h = i % heads;
      const double dt =
          std::clamp(std::log1p(std::exp(static_cast<double>(raw[i]) + bias[h])), 0.3, 2.0);
      expected_g.push_back(static_cast<float>(dt * a[h]));
      for (int64_t j = 0; j < width; ++j) {
        expected_v.push_back(static_cast<float>((dt + skip[h]) * x[i * width + j]));
      }
    }
    ExpectNear(g.Values(), expected_g, 2e-5, "g");
    ExpectNear(v.Values(), expected_v, Tolerance(dtype), "v");

    std::vector<int64_t> positions;
    for (int64_t r = 0; r < rows; ++r) positions.push_back(r * 13);
    const Floats frequencies = {1, 0.3f, 0.1f, 0.01f};
    Floats expected = x;
    kernels::RopeArgs rope{DType::kFloat32,
                           expected.data(),
                           heads * width,
                           positions.data(),
                           frequencies.data(),
                           1,
                           rows,
                           heads,
                           width,
                           8};
    RunRopeReference(rope);
    const Array<int64_t> dpositions(positions);
    const Array<float> dfrequencies(frequencies);
    RunRope({dtype, dx.data(), heads * width, dpositions.data(), dfrequencies.data(), 1, rows,
             heads, width, 8},
            nullptr);
    Synchronize();
    ExpectNear(dx.Values(), expected, dtype == DType::kFloat32 ? 1e-5 : 8e-3, "rope");
  }
}

TEST_F(SamplingCuda, LogitsEmbeddingsRows) {
  for (const DType dtype : kTypes) {
    for (const int64_t vocabulary : {5, 1000, 32000}) {
      Random random(15);
      const int64_t rows = 4;
      Floats logits = Rounded(dtype, random.Normals(rows * vocabulary, 4));
      logits[3] = 60;
      logits[4] = 60;  // a tie: the first wins
      logits[vocabulary + 1] = -INFINITY;
      const Activations dlogits(dtype, logits);
      const std::vector<int32_t> targets = {2, 0, -1, 4};
      const Array<int32_t> dtargets(targets), argmax(rows);
      const Array<float> log_prob(rows), log_sum(rows), best(rows);
      RunLogits({dtype, dlogits.data(), vocabulary, dtargets.data(), log_prob.data(),
                 log_sum.data(), argmax.data(), best.data(), rows, vocabulary},
                nullptr);
      Synchronize();
      Floats expected_log_prob, expected_sum;
      std::vector<int32_t> expected_argmax;
      for (int64_t r = 0; r < rows; ++r) {
        const float* row = logits.data() + r * vocabulary;
        double sum = 0;
        const auto top = std::max_element(row, row + vocabulary) - row;
        for (int64_t i = 0; i < vocabulary; ++i)
          sum += std::exp(static_cast<double>(row[i]) - row[top]);
        expected_argmax.push_back(static_cast<int32_t>(top));
        expected_sum.push_back(static_cast<float>(std::log(sum) + row[top]));
        expected_log_prob.push_back(
            targets[r] < 0 ? 0 : static_cast<float>(row[targets[r]] - row[top] - std::log(sum)));
      }
      EXPECT_EQ(argmax.Values(), expected_argmax);
      ExpectNear(log_sum.Values(), expected_sum, 1e-5, "log sum");
      ExpectNear(log_prob.Values(), expected_log_prob, 1e-5, "log prob");
    }
    Random random(16);
    const int64_t hidden = 40;
    const Floats table = Rounded(dtype, random.Normals(10 * hidden));
    const Activations dtable(dtype, table), y(dtype, 4 * hidden);
    const std::vector<int32_t> ids = {7, 0, 9, kNoId};
    const Array<int32_t> dids(ids);
    RunEmbed({dtype, dtable.data(), dids.data(), y.data(), 4, hidden, 1}, nullptr);
    Synchronize();
    const std::vector<int64_t> read = {7, 0, 9, 0};
    Floats expected;
    for (const int64_t row : read) {
      expected.insert(expected.end(), table.begin() + row * hidden,
                      table.begin() + (row + 1) * hidden);
    }
    EXPECT_EQ(y.Values(), expected);
    const Array<int64_t> rows(read);
    const Activations gathered(dtype, 4 * hidden);
    RunGatherRows({dtype, dtable.data(), hidden, rows.data(), gathered.data(), 4, hidden}, nullptr);
    Synchronize();
    EXPECT_EQ(gathered.Values(), expected);
  }
}

// A NaN anywhere leaves nothing to choose or to sum; -inf alone leaves the first entry.
TEST_F(SamplingCuda, RowsThatHoldNoNumbers) {
  for (const DType dtype : kTypes) {
    for (const int64_t vocabulary : {5, 1000, 32000}) {
      Random random(18);
      const std::vector<int64_t> broken = {0, 1, vocabulary / 2, vocabulary - 1};
      const auto rows = static_cast<int64_t>(broken.size()) + 3;
      Floats logits = random.Normals(rows * vocabulary, 4);
      for (size_t r = 0; r < broken.size(); ++r) logits[r * vocabulary + broken[r]] = NAN;
      const auto row = [&](int64_t from_end) { return logits.end() - from_end * vocabulary; };
      std::fill(row(3), row(2), NAN);
      std::fill(row(2), row(1), -INFINITY);
      *(row(1) + 3) = 90;
      const Activations dlogits(dtype, logits);
      const Array<int32_t> targets(std::vector<int32_t>(static_cast<size_t>(rows), 2));
      const Array<int32_t> argmax(rows);
      const Array<float> log_prob(rows), log_sum(rows), best(rows);
      for (const double cap : {0.0, 30.0}) {
        RunLogits({dtype, dlogits.data(), vocabulary, targets.data(), log_prob.data(),
                   log_sum.data(), argmax.data(), best.data(), rows, vocabulary, cap},
                  nullptr);
        Synchronize();
        const std::vector<int32_t> found = argmax.Values();
        for (int64_t r = 0; r < rows; ++r) {
          const bool is_broken = r < rows - 2;
          EXPECT_EQ(found[r] == kNoId, is_broken) << r;
          if (r == rows - 2 && cap == 0) continue;  // -inf alone: no sum either
          EXPECT_EQ(std::isnan(log_prob.Values()[r]), is_broken) << r;
          EXPECT_EQ(std::isnan(log_sum.Values()[r]), is_broken) << r;
          EXPECT_EQ(std::isnan(best.Values()[r]), is_broken) << r;
        }
        EXPECT_EQ(found[rows - 2], 0);
        EXPECT_EQ(found[rows - 1], 3);
      }
    }
  }
}

}  // namespace
}  // namespace natsl::kernels::cuda
