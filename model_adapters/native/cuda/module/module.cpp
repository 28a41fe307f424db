// The one symbol that the loader looks up in natsl_native_cuda.
#include "model_adapters/native/cuda/cuda_model.h"
#include "model_adapters/native_module.h"

extern "C" __attribute__((visibility("default"))) natsl::model_adapters::TokenModel*
natsl_open_native_model(const std::string& path,
                        const natsl::model_adapters::OpenOptions& options) {
  return natsl::model_adapters::native::cuda::OpenModel(path, options).release();
}
