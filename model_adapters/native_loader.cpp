// OpenNativeModel: loads natsl_native (or natsl_native_cuda) when a checkpoint is first opened,
// since LibTorch costs every start that doesn't need it.
#include <dlfcn.h>

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

// Beside the program, or in the lib folder of an installation.
OpenNativeModelFunction Load(const std::string& module) {
  const auto folder = ProgramFolder();
  const std::vector<std::filesystem::path> places = {
      folder / (module + ".so"), folder.parent_path() / "lib" / "natsl" / (module + ".so")};
  for (const auto& place : places) {
    if (!std::filesystem::exists(place)) continue;
    void* library = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      throw InternalError("{} does not load: {}; run scripts/setup again (it fetches LibTorch)",
                          place.string(), dlerror());
    }
    void* symbol = dlsym(library, kOpenNativeModelSymbol);
    if (symbol == nullptr) {
      throw InternalError("{} is not a native module of this version: {}", place.string(),
                          dlerror());
    }
    return reinterpret_cast<OpenNativeModelFunction>(symbol);
  }
  throw InternalError("{}.so is neither in {} nor in {}; build the target {}{}", module,
                      places[0].parent_path().string(), places[1].parent_path().string(), module,
                      module == "natsl_native_cuda" ? " (CMake preset cuda, needs nvcc)" : "");
}

}  // namespace

std::unique_ptr<TokenModel> OpenNativeModel(const std::string& path, const OpenOptions& options) {
  static std::mutex mutex;
  static OpenNativeModelFunction loaded[2] = {nullptr, nullptr};
  const bool cuda = options.device.starts_with("cuda");
  if (!cuda && options.device != "cpu") {
    throw UsageError("device is \"{}\", expected cpu, cuda or cuda:N", options.device);
  }
  const std::lock_guard lock(mutex);
  OpenNativeModelFunction& open = loaded[cuda ? 1 : 0];
  if (open == nullptr) open = Load(cuda ? "natsl_native_cuda" : "natsl_native");
  return std::unique_ptr<TokenModel>(open(path, options));
}

}  // namespace natsl::model_adapters
