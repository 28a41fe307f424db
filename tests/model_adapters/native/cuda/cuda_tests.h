// What the tests of the CUDA engine share.
#pragma once

#include <gtest/gtest.h>

#include "tests/model_adapters/native/tiny_models.h"

/// In a test's SetUp: skips by name where there is no GPU, or the module doesn't load.
#define NATSL_NEEDS_GPU()                                                         \
  do {                                                                            \
    const std::string why = ::natsl::model_adapters::native::cuda::WhyNoDevice(); \
    if (!why.empty()) GTEST_SKIP() << why;                                        \
  } while (false)

namespace natsl::model_adapters::native::cuda {

/// Empty: there is a GPU, and natsl_native_cuda is loaded (before any CPU model asks LibTorch
/// whether it has CUDA).
const std::string& WhyNoDevice();

/// The module's OpenNativeModel. Its models are NativeModels.
std::unique_ptr<NativeModel> OpenOnDevice(const std::string& path, const OpenOptions& options);

inline OpenOptions OnDevice(const char* dtype = "float32") {
  OpenOptions options;
  options.device = "cuda";
  options.dtype = dtype;
  return options;
}

inline std::unique_ptr<NativeModel> OpenTinyOnDevice(const TinyModel& model,
                                                     OpenOptions options = OnDevice()) {
  return OpenTiny(model, options, &OpenOnDevice);
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
