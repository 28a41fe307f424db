// Which LibTorch the native modules use.
#include "model_adapters/libtorch.h"

#include <dlfcn.h>

#include <cstdlib>

#include "core/build_info.h"
#include "core/cache.h"
#include "core/error.h"

namespace natsl::model_adapters {
namespace {

namespace fs = std::filesystem;

bool Exists(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

}  // namespace

void PreloadLibTorch(const fs::path& folder, bool cuda, const std::string& origin) {
  const fs::path libraries = folder / "torch" / "lib";
  for (const char* name : {"libc10.so", "libtorch_cpu.so", "libc10_cuda.so", "libtorch_cuda.so"}) {
    const bool of_cuda = std::string_view(name).find("cuda") != std::string_view::npos;
    if (of_cuda && !cuda) continue;
    const fs::path library = libraries / name;
    if (!Exists(library)) {
      throw UsageError("{}: {} is not there; give the folder that holds torch/lib", origin,
                       library.string());
    }
    // It stays loaded: a module that needs a library of this name gets this one.
    if (dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr) {
      throw UsageError("{}: {} does not load: {}", origin, library.string(), dlerror());
    }
  }
}

std::optional<fs::path> AskedForLibTorch() {
  const char* folder = std::getenv("NATSL_LIBTORCH");
  if (folder == nullptr || *folder == '\0') return std::nullopt;
  return fs::path(folder);
}

std::optional<fs::path> CachedLibTorch() {
  const fs::path folder = core::UserCacheFolder() / ("libtorch-" + core::ThisBuild().libtorch);
  if (!Exists(folder / "torch" / "lib" / "libtorch_cpu.so")) return std::nullopt;
  return folder;
}

bool LacksLibTorch(const std::string& linker_message) {
  if (linker_message.find("cannot open shared object file") == std::string::npos) return false;
  for (const char* name : {"libtorch", "libc10", "libcudart", "libcupti"}) {
    if (linker_message.starts_with(name)) return true;
  }
  return false;
}

std::string LibTorchAdvice() {
  const std::string& version = core::ThisBuild().libtorch;
  return fmt::format(
      "LibTorch {} is not found: run scripts/setup, which unpacks it into {}, or set "
      "NATSL_LIBTORCH "
      "to a folder with torch/lib/libtorch_cpu.so (pip install --no-deps --target DIR torch=={} "
      "nvidia-cuda-runtime==13.0.96 nvidia-cuda-cupti==13.0.85 makes one)",
      version, core::UserCacheFolder().string(), version);
}

}  // namespace natsl::model_adapters
