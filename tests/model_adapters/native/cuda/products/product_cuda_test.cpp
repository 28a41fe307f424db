// Products of few rows on the device, from every form of their input, against sums in double.
#include "model_adapters/native/cuda/skinny_product.h"
#include "tests/kernels/cuda/cuda_support.h"

namespace natsl::model_adapters::native::cuda {
namespace {

using namespace kernels::cuda::testing;
using kernels::DType;
using Input = SkinnyProductArgs::Input;

struct Sizes {
  int64_t in, out;
};
// Fewer outputs than multiprocessors, some and many a block, several tiles of a block.
constexpr Sizes kSizes[] = {{64, 24}, {256, 1000}, {1024, 3080}, {2816, 1024}};
constexpr int64_t kGroup = 64;  // of the head norm

double Silu(double x) { return x / (1 + std::exp(-x)); }

// What the product multiplies, in double before it is rounded.
struct Inputs {
  Floats x, gate, residual, weight;

  double Sum(int64_t row, int64_t in, int64_t c) const {
    return static_cast<double>(x[row * in + c]) + residual[row * in + c];
  }

  // The factor of row's columns [begin, end): one over their root mean square.
  double Factor(int64_t row, int64_t in, int64_t begin, int64_t end, bool with_residual) const {
    double squares = 0;
    for (int64_t c = begin; c < end; ++c) {
      const double value = with_residual ? Sum(row, in, c) : x[row * in + c];
      squares += value * value;
    }
    return 1 / std::sqrt(squares / static_cast<double>(end - begin) + 1e-5);
  }

  Floats Of(Input form, int64_t rows, int64_t in) const {
    Floats made;
    for (int64_t row = 0; row < rows; ++row) {
      const double all = Factor(row, in, 0, in, true);
      for (int64_t c = 0; c < in; ++c) {
        const double value = x[row * in + c], opened = Silu(gate[row * in + c]);
        const int64_t group = c / kGroup * kGroup;
        const double made_here = form == Input::kPlain   ? value
                                 : form == Input::kGated ? Silu(value) * gate[row * in + c]
                                 : form == Input::kNormed
                                     ? Sum(row, in, c) * all * weight[c]
                                     : value * Factor(row, in, group, group + kGroup, false) *
                                           weight[c - group] * opened;
        made.push_back(static_cast<float>(made_here));
      }
    }
    return made;
  }
};

class ProductCuda : public CudaTest,
                    public ::testing::WithParamInterface<std::tuple<DType, int64_t>> {
 protected:
  void Run(Input form, const Sizes& sizes, bool float_output) {
    const DType dtype = std::get<0>(GetParam());
    const int64_t rows = std::get<1>(GetParam()), in = sizes.in, out = sizes.out;
    SCOPED_TRACE(::testing::Message()
                 << "input " << static_cast<int>(form) << ", " << in << " to " << out);
    Random random(static_cast<uint64_t>(in + rows));
    const auto draw = [&](int64_t count) { return Rounded(dtype, random.Normals(count)); };
    const Inputs inputs{draw(rows * in), draw(rows * in), draw(rows * in), random.Normals(in)};
    const Floats weight = draw(out * in), bias = draw(out);
    const Activations x(dtype, inputs.x), gate(dtype, inputs.gate);
    const Activations residual(dtype, inputs.residual), w(dtype, weight), b(dtype, bias);
    const kernels::cuda::testing::Array<float> norm_weight(inputs.weight);
    const Activations sum(dtype, rows * in);
    const DType y_type = float_output ? DType::kFloat32 : dtype;
    const Activations y(y_type, rows * out);
    SkinnyProductArgs args;
    args.dtype = dtype;
    args.float_output = float_output;
    args.x = x.data();
    args.x_stride = args.gate_stride = args.residual_stride = in;
    args.input = form;
    if (form == Input::kGated || form == Input::kHeadNormed) args.gate = gate.data();
    if (form == Input::kNormed) {
      args.residual = residual.data();
      args.sum = sum.data();
    }
    if (form == Input::kNormed || form == Input::kHeadNormed) args.norm_weight = norm_weight.data();
    if (form == Input::kHeadNormed) args.group = kGroup;
    args.eps = 1e-5;
    args.weight = w.data();
    args.bias = b.data();
    args.y = y.data();
    args.y_stride = out;
    args.rows = rows;
    args.in = in;
    args.out = out;
    ASSERT_TRUE(SkinnyFits(args));
    RunSkinnyProduct(args, nullptr);
    kernels::cuda::Check(cudaDeviceSynchronize(), "product");

    const Floats made = Rounded(dtype, inputs.Of(form, rows, in));
    Floats expected;
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t n = 0; n < out; ++n) {
        double total = bias[n];
        for (int64_t c = 0; c < in; ++c) {
          total += static_cast<double>(made[row * in + c]) * weight[n * in + c];
        }
        expected.push_back(static_cast<float>(total));
      }
    }
    ExpectNear(y.Values(), expected, Tolerance(dtype), "y");
    if (form != Input::kNormed) return;
    Floats sums;
    for (int64_t i = 0; i < rows * in; ++i) sums.push_back(inputs.x[i] + inputs.residual[i]);
    ExpectNear(sum.Values(), sums, Tolerance(dtype), "sum");
  }
};

TEST_P(ProductCuda, EveryInputAndSize) {
  for (const Sizes& sizes : kSizes) {
    for (const Input form : {Input::kPlain, Input::kGated, Input::kNormed, Input::kHeadNormed}) {
      Run(form, sizes, false);
    }
    Run(Input::kNormed, sizes, true);
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, ProductCuda,
                         ::testing::Combine(::testing::ValuesIn(kTypes),
                                            ::testing::Values(1, 2, 3, 8)),
                         kNamed);

}  // namespace
}  // namespace natsl::model_adapters::native::cuda
