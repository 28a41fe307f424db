// Norms: the definition against hand-made values, the processor against the definition.
#include "kernels/norm.h"

#include "core/error.h"
#include "tests/kernels/dense_support.h"

namespace natsl::kernels::testing {
namespace {

Floats Reference(NormOp op, const Floats& x, const std::function<void(NormArgs&)>& more = {}) {
  Floats y(x.size());
  NormArgs args;
  args.op = op;
  args.x = x.data();
  args.y = y.data();
  args.rows = 1;
  args.width = static_cast<int64_t>(x.size());
  args.x_stride = args.y_stride = args.width;
  args.eps = 0;
  if (more) more(args);
  Validate(args);
  RunNormReference(args);
  return y;
}

TEST(NormReference, HandValues) {
  // The mean square is 25; with an eps of 24 inside the root the divisor is 7.
  EXPECT_EQ(Reference(NormOp::kRms, {5, -5}), (Floats{1, -1}));
  EXPECT_EQ(Reference(NormOp::kRms, {7, -1}), (Floats{1.4F, -0.2F}));
  EXPECT_EQ(Reference(NormOp::kRms, {5, -5}, [](NormArgs& args) { args.eps = 24; }),
            (Floats{5.0F / 7, -5.0F / 7}));
  const Floats weight = {2, 3};
  const Floats bias = {10, 20};
  EXPECT_EQ(Reference(NormOp::kRms, {5, -5}, [&](NormArgs& args) { args.weight = weight.data(); }),
            (Floats{2, -3}));
  EXPECT_EQ(
      Reference(NormOp::kRmsOnePlus, {5, -5}, [&](NormArgs& args) { args.weight = weight.data(); }),
      (Floats{3, -4}));
  EXPECT_EQ(Reference(NormOp::kRms, {5, -5}, [](NormArgs& args) { args.scale = 0.25; }),
            (Floats{0.25F, -0.25F}));
  // Layer norm: mean 4, variance 9 + 7 of eps in the root.
  EXPECT_EQ(Reference(NormOp::kLayer, {1, 7},
                      [&](NormArgs& args) {
                        args.eps = 7;
                        args.weight = weight.data();
                        args.bias = bias.data();
                      }),
            (Floats{8.5F, 22.25F}));
  // L2: eps is added to the sum of squares.
  EXPECT_EQ(Reference(NormOp::kL2, {3, 4}), (Floats{0.6F, 0.8F}));
  EXPECT_EQ(Reference(NormOp::kL2, {3, 4}, [](NormArgs& args) { args.eps = 75; }),
            (Floats{0.3F, 0.4F}));
  EXPECT_EQ(Reference(NormOp::kSum, {1, 3}), (Floats{0.25F, 0.75F}));
  EXPECT_EQ(Reference(NormOp::kSum, {1, 3}, [](NormArgs& args) { args.eps = 100; }),
            (Floats{0.25F, 0.75F}));
  EXPECT_TRUE(std::isnan(Reference(NormOp::kSum, {0, 0})[0]));
}

TEST(NormReference, GateAndResidual) {
  const Floats gate = {0, 30};  // silu: 0 and 30
  EXPECT_EQ(Reference(NormOp::kRms, {5, -5}, [&](NormArgs& args) { args.gate = gate.data(); }),
            (Floats{0, -30}));
  const Floats gated = Reference(NormOp::kRms, {5, -5}, [&](NormArgs& args) {
    args.gate = gate.data();
    args.gate_order = GateOrder::kGateFirst;
  });
  EXPECT_EQ(gated[0], 0);
  EXPECT_FLOAT_EQ(gated[1], -std::sqrt(2.0F));
  const Floats residual = {4, -4};
  Floats sum(2);
  EXPECT_EQ(Reference(NormOp::kRms, {1, -1},
                      [&](NormArgs& args) {
                        args.residual = residual.data();
                        args.sum = sum.data();
                        args.eps = 24;
                      }),
            (Floats{5.0F / 7, -5.0F / 7}));
  EXPECT_EQ(sum, (Floats{5, -5}));
}

struct Variant {
  NormOp op = NormOp::kRms;
  bool residual = false, gate = false, weight = true, per_group = false;
  GateOrder order = GateOrder::kNormFirst;
};

std::vector<Variant> Variants() {
  std::vector<Variant> variants;
  for (const NormOp op :
       {NormOp::kRms, NormOp::kRmsOnePlus, NormOp::kLayer, NormOp::kL2, NormOp::kSum}) {
    for (const bool residual : {false, true}) {
      for (const int gate : {0, 1, 2}) {
        for (const int weight : {0, 1, 2}) {
          variants.push_back({op, residual, gate != 0, weight != 0, weight == 2,
                              gate == 2 ? GateOrder::kGateFirst : GateOrder::kNormFirst});
        }
      }
    }
  }
  return variants;
}

struct Problem {
  Problem(uint64_t seed, const Variant& variant, int64_t rows, int64_t groups, int64_t width)
      : Problem(Random(seed), variant, rows, groups, width) {}
  Problem(Random random, const Variant& variant, int64_t rows, int64_t groups, int64_t width)
      : x(Matrix::Normals(random, rows, groups * width, 3)),
        residual(Matrix::Normals(random, rows, groups * width, 1)),
        gate(Matrix::Normals(random, rows, groups * width, 2)),
        sum(rows, groups * width, 0),
        y(rows, groups * width, 5),
        weight(random.Normals(groups * width)),
        bias(random.Normals(groups * width)) {
    if (variant.op == NormOp::kSum) {  // keep the divisor away from zero
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t c = 0; c < groups * width; ++c) x.At(r, c) = std::abs(x.At(r, c)) + 2;
      }
    }
    args.op = variant.op;
    args.x = x.data();
    args.x_stride = x.stride();
    if (variant.residual) {
      args.residual = residual.data();
      args.residual_stride = residual.stride();
      args.sum = sum.data();
    }
    if (variant.gate) {
      args.gate = gate.data();
      args.gate_stride = gate.stride();
    }
    args.gate_order = variant.order;
    if (variant.weight) args.weight = weight.data();
    if (variant.weight && variant.op == NormOp::kLayer) args.bias = bias.data();
    args.weight_per_group = variant.per_group;
    args.y = y.data();
    args.y_stride = y.stride();
    args.rows = rows;
    args.groups = groups;
    args.width = width;
    args.scale = 0.5;
  }

  Floats Outputs() const {
    Floats outputs = y.Values();
    Append(outputs, sum.Values());
    return outputs;
  }

  Matrix x, residual, gate, sum, y;
  Floats weight, bias;
  NormArgs args;
};

TEST(NormCpu, AgreesWithReference) {
  ForEachTarget([](const std::string& target) {
    for (const Variant& variant : Variants()) {
      for (const int64_t width : {1, 24, 40, 63, 64, 65, 131, 1000}) {
        for (const int64_t groups : {1, 3}) {
          Problem actual(5, variant, 3, groups, width);
          Problem expected(5, variant, 3, groups, width);
          Validate(actual.args);
          RunNormCpu(actual.args);
          RunNormReference(expected.args);
          ExpectClose(actual.Outputs(), expected.Outputs(),
                      variant.op == NormOp::kSum ? kSumNormTolerance : kNormTolerance,
                      target + " op " + std::to_string(static_cast<int>(variant.op)) + " width " +
                          std::to_string(width));
        }
      }
    }
  });
}

TEST(NormCpu, RowCounts) {
  for (const int64_t rows : {0, 1, 63, 64, 65, 131, 1000}) {
    Problem actual(6, {NormOp::kLayer, true, true}, rows, 2, 80);
    Problem expected(6, {NormOp::kLayer, true, true}, rows, 2, 80);
    Validate(actual.args);
    RunNormCpu(actual.args);
    RunNormReference(expected.args);
    ExpectClose(actual.Outputs(), expected.Outputs(), kNormTolerance, std::to_string(rows));
  }
}

TEST(NormCpu, InPlace) {
  Problem apart(7, {NormOp::kRms, true, true}, 9, 2, 40);
  RunNormCpu(apart.args);
  Problem same(7, {NormOp::kRms, true, true}, 9, 2, 40);
  same.args.y = same.x.data();
  same.args.y_stride = same.x.stride();
  RunNormCpu(same.args);
  EXPECT_EQ(same.x.Values(), apart.y.Values());
}

TEST(NormCpu, ZerosStayFinite) {
  for (const NormOp op : {NormOp::kRms, NormOp::kLayer, NormOp::kL2}) {
    const Floats x(64, 0.0F);
    Floats y(64, 1.0F);
    NormArgs args;
    args.op = op;
    args.x = x.data();
    args.y = y.data();
    args.rows = 1;
    args.width = 64;
    RunNormCpu(args);
    EXPECT_EQ(y, x);
    args.op = NormOp::kSum;
    RunNormCpu(args);
    EXPECT_TRUE(std::isnan(y[0]) && std::isnan(y[63]));
  }
}

TEST(NormCpu, ExtremeGates) {
  Floats x(32, 1.0F), gate(32, -200.0F), y(32);
  gate[0] = 200;
  gate[1] = 0;
  NormArgs args;
  args.x = x.data();
  args.gate = gate.data();
  args.y = y.data();
  args.rows = 1;
  args.width = 32;
  args.eps = 0;
  ForEachTarget([&](const std::string& target) {
    RunNormCpu(args);
    EXPECT_EQ(y[0], 200.0F) << target;
    EXPECT_EQ(y[1], 0.0F) << target;
    EXPECT_NEAR(y[2], 0.0F, 1e-30F) << target;
  });
}

TEST(NormCpu, SameBytesForAnyTeam) {
  ExpectSameBytesForAnyTeam([] {
    Problem problem(8, {NormOp::kLayer, true, true}, 333, 3, 131);
    RunNormCpu(problem.args);
    return problem.Outputs();
  });
}

struct MergeProblem {
  MergeProblem(uint64_t seed, int64_t rows, int64_t groups, int64_t width)
      : MergeProblem(Random(seed), rows, groups, width) {}
  MergeProblem(Random random, int64_t rows, int64_t groups, int64_t width)
      : delta(random.Normals(rows * groups * width)),
        attention(random.Normals(rows * groups * width)),
        gate(Matrix::Normals(random, rows, groups * width, 7)),
        mix(random.Uniforms(rows * groups * 2, 0, 1)),
        delta_weight(random.Normals(width)),
        attention_weight(random.Normals(width)),
        y(rows, groups * width, 0) {
    args.delta = delta.data();
    args.attention = attention.data();
    args.gate = gate.data();
    args.gate_stride = gate.stride();
    args.mix = mix.data();
    args.delta_weight = delta_weight.data();
    args.attention_weight = attention_weight.data();
    args.y = y.data();
    args.rows = rows;
    args.groups = groups;
    args.width = width;
  }
  Floats delta, attention;
  Matrix gate;
  Floats mix, delta_weight, attention_weight;
  Matrix y;
  MergeNormArgs args;
};

TEST(MergeNormReference, HandValues) {
  const Floats delta = {5, -5}, attention = {3, 3}, gate = {30, 40};
  const Floats mix = {0.25F, 0.75F}, delta_weight = {2, 4}, attention_weight = {1, -1};
  Floats y(2);
  MergeNormArgs args;
  args.delta = delta.data();
  args.attention = attention.data();
  args.gate = gate.data();
  args.mix = mix.data();
  args.delta_weight = delta_weight.data();
  args.attention_weight = attention_weight.data();
  args.y = y.data();
  args.rows = args.groups = 1;
  args.width = 2;
  args.eps = 0;
  Validate(args);
  RunMergeNormReference(args);
  // (0.25 * 1 * 2 + 0.75 * 1 * 1) * 30 and (0.25 * -1 * 4 + 0.75 * 1 * -1) * 40
  EXPECT_FLOAT_EQ(y[0], 37.5F);
  EXPECT_FLOAT_EQ(y[1], -70.0F);
}

TEST(MergeNormCpu, AgreesWithReference) {
  ForEachTarget([](const std::string& target) {
    for (const int64_t rows : {0, 1, 65}) {
      for (const int64_t width : {1, 24, 40, 64, 131, 256}) {
        MergeProblem actual(9, rows, 3, width);
        MergeProblem expected(9, rows, 3, width);
        Validate(actual.args);
        RunMergeNormCpu(actual.args);
        RunMergeNormReference(expected.args);
        ExpectClose(actual.y.Values(), expected.y.Values(), kMergeNormTolerance,
                    target + " width " + std::to_string(width));
      }
    }
  });
}

TEST(MergeNormCpu, SameBytesForAnyTeam) {
  ExpectSameBytesForAnyTeam([] {
    MergeProblem problem(10, 333, 3, 131);
    RunMergeNormCpu(problem.args);
    return problem.y.Values();
  });
}

TEST(NormValidate, NamesTheArgument) {
  const auto message = [&](const std::function<void(NormArgs&)>& spoil) -> std::string {
    Problem problem(11, {NormOp::kRms, true, true}, 2, 3, 4);
    Validate(problem.args);
    spoil(problem.args);
    try {
      Validate(problem.args);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(message([](NormArgs& args) { args.width = 0; }), "norm: width is 0, expected >= 1");
  EXPECT_EQ(message([](NormArgs& args) { args.x = nullptr; }), "norm: x is null");
  EXPECT_EQ(message([](NormArgs& args) { args.gate_stride = 11; }),
            "norm: gate_stride is 11, expected >= groups * width = 12");
  EXPECT_EQ(message([](NormArgs& args) { args.bias = args.weight; }),
            "norm: bias is given, expected null unless the op is kLayer");
}

}  // namespace
}  // namespace natsl::kernels::testing
