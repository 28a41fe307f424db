// natsl-kernel-bench: the CUDA kernels' times by CUDA events at the sizes of 340M models, with
// achieved TFLOP/s and TB/s.
#include <cstdio>

#include "benchmarks/cuda/bench_support.h"

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::fprintf(stderr, "natsl-kernel-bench: no CUDA device on this machine\n");
    return 2;
  }
  natsl::kernels::cuda::bench::AddRecurrentRows();
  natsl::kernels::cuda::bench::AddRowwiseRows();
  natsl::kernels::cuda::bench::AddAttentionRows();
  natsl::kernels::cuda::bench::AddTorchRows();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
