// What the tests of the CUDA engine share.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include "model_adapters/native/cuda/cuda_model.h"
#include "tests/model_adapters/native/tiny_models.h"

#define NATSL_NEEDS_GPU()                                 \
  do {                                                    \
    int devices = 0;                                      \
    if (cudaGetDeviceCount(&devices) != cudaSuccess) {    \
      static_cast<void>(cudaGetLastError());              \
      devices = 0;                                        \
    }                                                     \
    if (devices == 0) GTEST_SKIP() << "no CUDA GPU here"; \
  } while (false)

namespace natsl::model_adapters::native::cuda {

inline OpenOptions OnDevice(const char* dtype = "float32") {
  OpenOptions options;
  options.device = "cuda";
  options.dtype = dtype;
  return options;
}

inline std::unique_ptr<NativeModel> OpenTinyOnDevice(const TinyModel& model,
                                                     OpenOptions options = OnDevice()) {
  return OpenTiny(model, options, &cuda::OpenModel);
}

/// The largest and the mean difference.
struct Differences {
  double largest = 0, mean = 0;
};
inline Differences Compare(std::span<const float> a, std::span<const float> b) {
  Differences result;
  for (size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    // Not a number counts as the largest.
    if (!(difference <= result.largest)) result.largest = difference;
    result.mean += difference / static_cast<double>(a.size());
  }
  return result;
}

}  // namespace natsl::model_adapters::native::cuda
