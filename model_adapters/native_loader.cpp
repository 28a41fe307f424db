// OpenNativeModel: loads natsl_native (or natsl_native_cuda) when a checkpoint is first opened,
// since LibTorch costs every start that doesn't need it.
#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <vector>

#include "core/error.h"
#include "model_adapters/native_module.h"

namespace natsl::model_adapters {
namespace {

std::filesystem::path ProgramFolder() {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) throw InternalError("cannot find this program's folder: {}", error.message());
  return program.parent_path();
}

constexpr const char* kCpuModule = "natsl_native";
constexpr const char* kCudaModule = "natsl_native_cuda";

// Beside the program, or in the lib folder of an installation.
std::vector<std::filesystem::path> Places(const std::string& module) {
  const auto folder = ProgramFolder();
  return {folder / (module + ".so"), folder.parent_path() / "lib" / "natsl" / (module + ".so")};
}

bool Exists(const std::filesystem::path& place) {
  std::error_code error;
  return std::filesystem::exists(place, error);
}

bool IsCuda(const std::string& device) {
  return device == "cuda" || (device.starts_with("cuda:") && device.size() > 5 &&
                              device.find_first_not_of("0123456789", 5) == std::string::npos);
}

OpenNativeModelFunction Load(const std::string& module) {
  const std::vector<std::filesystem::path> places = Places(module);
  for (const auto& place : places) {
    if (!Exists(place)) continue;
    void* library = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      const std::string why = dlerror();
      if (module == kCudaModule) {
        throw UsageError(
            "{} does not load: {}; run scripts/setup --cuda, which fetches the CUDA libraries that "
            "LibTorch needs, or use --device cpu",
            place.string(), why);
      }
      throw InternalError("{} does not load: {}; run scripts/setup again (it fetches LibTorch)",
                          place.string(), why);
    }
    void* symbol = dlsym(library, kOpenNativeModelSymbol);
    if (symbol == nullptr) {
      throw InternalError("{} is not a native module of this version: {}", place.string(),
                          dlerror());
    }
    return reinterpret_cast<OpenNativeModelFunction>(symbol);
  }
  throw InternalError("{}.so is neither in {} nor in {}; build the target {}", module,
                      places[0].parent_path().string(), places[1].parent_path().string(), module);
}

}  // namespace

std::unique_ptr<TokenModel> OpenNativeModel(const std::string& path, const OpenOptions& options) {
  static std::mutex mutex;
  static OpenNativeModelFunction loaded[2] = {nullptr, nullptr};
  const bool cuda = IsCuda(options.device);
  if (!cuda && options.device != "cpu") {
    throw UsageError("device is \"{}\", expected cpu, cuda or cuda:N", options.device);
  }
  if (const auto places = Places(kCudaModule);
      cuda && std::none_of(places.begin(), places.end(), Exists)) {
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
