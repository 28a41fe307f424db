// natsl-kernel-bench: convolutions, norms, gates and logits, which move bytes.
#include "benchmarks/cuda/bench_support.h"
#include "kernels/cuda/elementwise.h"
#include "kernels/cuda/norm.h"
#include "kernels/cuda/sampling.h"
#include "kernels/cuda/short_conv.h"

namespace natsl::kernels::cuda::bench {
namespace {

void BenchmarkConv(benchmark::State& state, int64_t channels, int64_t tokens) {
  const Plan plan(tokens);
  const auto x = Normals(tokens * channels, DType::kBFloat16);
  const auto weight = Normals(channels * 4, DType::kFloat32);
  const Memory y(tokens * channels * 2), tails(channels * 12);
  Check(cudaMemset(tails.as(), 0, static_cast<size_t>(channels * 12)), "memset");
  ShortConvArgs args;
  args.x = x->as();
  args.x_stride = args.y_stride = args.channels = channels;
  args.weight = weight->as<float>();
  args.y = y.as();
  args.tails = tails.as<float>();
  args.offsets = plan.plan.offsets;
  args.sequences = 1;
  args.tokens = tokens;
  Work work;
  work.run = [&] { RunShortConv(args, nullptr); };
  work.bytes = static_cast<double>(tokens * channels) * 4;
  Time(state, work);
}

void BenchmarkNorm(benchmark::State& state, int64_t groups, int64_t width, bool residual, bool gate,
                   int64_t tokens) {
  const int64_t columns = groups * width;
  const auto x = Normals(tokens * columns, DType::kBFloat16);
  const auto other = Normals(tokens * columns + 1, DType::kBFloat16);
  const auto weight = Normals(width, DType::kFloat32);
  const Memory y(tokens * columns * 2), sum(tokens * columns * 2);
  NormArgs args;
  args.dtype = DType::kBFloat16;
  args.x = x->as();
  args.x_stride = args.y_stride = args.residual_stride = args.gate_stride = columns;
  if (residual) {
    args.residual = other->as();
    args.sum = sum.as();
  }
  if (gate) args.gate = other->as();
  args.weight = weight->as<float>();
  args.y = y.as();
  args.rows = tokens;
  args.groups = groups;
  args.width = width;
  Work work;
  work.run = [&] { RunNorm(args, nullptr); };
  work.bytes = static_cast<double>(tokens * columns) * 2 * (2 + 2 * residual + gate);
  Time(state, work);
}

void BenchmarkSwiGlu(benchmark::State& state, int64_t columns, int64_t tokens) {
  const auto both = Normals(tokens * columns * 2, DType::kBFloat16);
  const Memory y(tokens * columns * 2);
  ActivationArgs args;
  args.x = both->as();
  args.factor = both->as<uint16_t>() + columns;
  args.x_stride = args.factor_stride = 2 * columns;
  args.y = y.as();
  args.y_stride = args.columns = columns;
  args.rows = tokens;
  Work work;
  work.run = [&] { RunActivation(args, nullptr); };
  work.bytes = static_cast<double>(tokens * columns) * 6;
  Time(state, work);
}

void BenchmarkLogits(benchmark::State& state, int64_t vocabulary, int64_t rows) {
  const auto logits = Normals(rows * vocabulary, DType::kBFloat16);
  const Memory sums(rows * 4), best(rows * 4);
  LogitsArgs args;
  args.logits = logits->as();
  args.logits_stride = args.vocabulary = vocabulary;
  args.log_sum_exp = sums.as<float>();
  args.argmax = best.as<int32_t>();
  args.rows = rows;
  Work work;
  work.run = [&] { RunLogits(args, nullptr); };
  work.bytes = static_cast<double>(rows * vocabulary) * 2;
  Time(state, work);
}

}  // namespace

void AddRowwiseRows() {
  Add("conv/gdn_340m", BenchmarkConv, int64_t{3072}, kLong);
  Add("norm/residual_1024", BenchmarkNorm, int64_t{1}, int64_t{1024}, true, false, kLong);
  Add("norm/gated_6x256", BenchmarkNorm, int64_t{6}, int64_t{256}, false, true, kLong);
  Add("norm/heads_6x128", BenchmarkNorm, int64_t{6}, int64_t{128}, false, false, kLong);
  Add("swiglu/2816", BenchmarkSwiGlu, int64_t{2816}, kLong);
  Add("logits/32000", BenchmarkLogits, int64_t{32000}, int64_t{8192});
}

}  // namespace natsl::kernels::cuda::bench
