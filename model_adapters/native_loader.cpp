// OpenNativeModel: loads natsl_native (or natsl_native_cuda) when a checkpoint is first opened,
// since LibTorch costs every start that doesn't need it.
#include <dlfcn.h>

#include <filesystem>
#include <mutex>
#include <vector>

#include "core/build_info.h"
#include "core/error.h"
#include "core/modules.h"
#include "model_adapters/libtorch.h"
#include "model_adapters/native_module.h"

namespace natsl::model_adapters {
namespace {

constexpr const char* kCpuModule = "natsl_native";
constexpr const char* kCudaModule = "natsl_native_cuda";

bool IsCuda(const std::string& device) {
  return device == "cuda" || (device.starts_with("cuda:") && device.size() > 5 &&
                              device.find_first_not_of("0123456789", 5) == std::string::npos);
}

OpenNativeModelFunction Load(const std::string& module) {
  const bool cuda = module == kCudaModule;
  const std::filesystem::path place = core::FindModule(module + ".so");
  if (place.empty()) {
    const std::vector<std::filesystem::path> folders = core::ModuleFolders();
    throw InternalError("{}.so is neither in {} nor in {}; build the target {}", module,
                        folders[0].string(), folders[1].string(), module);
  }
  const auto asked = AskedForLibTorch();
  if (asked) PreloadLibTorch(*asked, cuda, "NATSL_LIBTORCH");
  void* library = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
  std::string why = library == nullptr ? dlerror() : "";
  if (library == nullptr && !asked && LacksLibTorch(why)) {
    // An installation whose LibTorch is gone, or was never there: the user's own, where set-up ran.
    if (const auto cached = CachedLibTorch()) {
      PreloadLibTorch(*cached, cuda, "the user's cache");
      library = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (library == nullptr) why = dlerror();
    }
  }
  if (library == nullptr) {
    if (cuda) {
      throw UsageError(
          "{} does not load: {}; run scripts/setup --cuda, which fetches the CUDA libraries that "
          "LibTorch needs, or use --device cpu",
          place.string(), why);
    }
    if (LacksLibTorch(why)) {
      throw InternalError("{} does not load: {}. {}", place.string(), why, LibTorchAdvice());
    }
    if (why.find("failed to map segment") != std::string::npos ||
        why.find("annot allocate memory") != std::string::npos) {
      throw InternalError("{} does not load: {}: this process has too little memory (ulimit -v)",
                          place.string(), why);
    }
    throw InternalError(
        "{} does not load: {}; it was built for LibTorch {}: run scripts/setup again (it fetches "
        "that), or leave NATSL_LIBTORCH unset",
        place.string(), why, core::ThisBuild().libtorch);
  }
  void* symbol = dlsym(library, kOpenNativeModelSymbol);
  if (symbol == nullptr) {
    throw InternalError("{} is not a native module of this version: {}", place.string(), dlerror());
  }
  return reinterpret_cast<OpenNativeModelFunction>(symbol);
}

}  // namespace

std::unique_ptr<TokenModel> OpenNativeModel(const std::string& path, const OpenOptions& options) {
  static std::mutex mutex;
  static OpenNativeModelFunction loaded[2] = {nullptr, nullptr};
  const bool cuda = IsCuda(options.device);
  if (!cuda && options.device != "cpu") {
    throw UsageError("device is \"{}\", expected cpu, cuda or cuda:N", options.device);
  }
  if (cuda && core::FindModule(fmt::format("{}.so", kCudaModule)).empty()) {
    throw UsageError(
        "device is \"{}\", but this build has no CUDA; use cpu, or build with CMake's preset cuda "
        "(needs nvcc)",
        options.device);
  }
  const std::lock_guard lock(mutex);
  OpenNativeModelFunction& open = loaded[cuda ? 1 : 0];
  if (open == nullptr) open = Load(cuda ? kCudaModule : kCpuModule);
  return std::unique_ptr<TokenModel>(open(path, options));
}

}  // namespace natsl::model_adapters
