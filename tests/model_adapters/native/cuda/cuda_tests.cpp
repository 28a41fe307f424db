// Loading the module under test, as natsl-bench loads it.
#include "tests/model_adapters/native/cuda/cuda_tests.h"

#include <dlfcn.h>

#include "core/error.h"
#include "model_adapters/native_module.h"

namespace natsl::model_adapters::native::cuda {
namespace {

struct Module {
  OpenNativeModelFunction open = nullptr;
  std::string trouble;
};

// Asks the driver itself: this program links no CUDA.
bool HasGpu() {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (driver == nullptr) return false;
  const auto init = reinterpret_cast<int (*)(unsigned)>(dlsym(driver, "cuInit"));
  const auto count = reinterpret_cast<int (*)(int*)>(dlsym(driver, "cuDeviceGetCount"));
  int devices = 0;
  return init != nullptr && count != nullptr && init(0) == 0 && count(&devices) == 0 && devices > 0;
}

Module LoadModule() {
  Module module;
  if (!HasGpu()) {
    module.trouble = "no NVIDIA GPU here";
    return module;
  }
  const std::string path = std::string(NATSL_BINARY_DIR) + "/natsl_native_cuda.so";
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    module.trouble = dlerror();
    return module;
  }
  module.open = reinterpret_cast<OpenNativeModelFunction>(dlsym(library, kOpenNativeModelSymbol));
  return module;
}

const Module& TheModule() {
  static const Module module = LoadModule();
  return module;
}

}  // namespace

const std::string& WhyNoDevice() { return TheModule().trouble; }

std::unique_ptr<NativeModel> OpenOnDevice(const std::string& path, const OpenOptions& options) {
  if (TheModule().open == nullptr) throw InternalError("{}", TheModule().trouble);
  return std::unique_ptr<NativeModel>(static_cast<NativeModel*>(TheModule().open(path, options)));
}

}  // namespace natsl::model_adapters::native::cuda
