#include "model_adapters/model_folder.h"

#include <algorithm>
#include <string_view>

#include "core/error.h"
#include "model_adapters/safetensors/header.h"

namespace natsl::model_adapters {
namespace {

namespace fs = std::filesystem;

bool IsInside(const fs::path& path, const fs::path& folder) {
  const auto [end, unused] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return end == folder.end();
}

}  // namespace

fs::path FileInFolder(const fs::path& folder, const std::string& name) {
  if (name.empty() || name == "." || name == ".." ||
      name.find_first_of(std::string_view("/\\\0", 3)) != std::string::npos) {
    throw ModelError("{}: \"{}\" is not the name of a file in this folder", folder.string(),
                     Printable(name));
  }
  const fs::path path = folder / name;
  std::error_code failure;
  const fs::path real = fs::weakly_canonical(path, failure);
  if (failure) throw ModelError("{}: {}", path.string(), failure.message());
  const fs::path home = fs::canonical(folder, failure);
  if (failure) throw ModelError("{}: {}", path.string(), failure.message());
  if (IsInside(real, home)) return path;
  // models--x--y/snapshots/REVISION/name -> ../../blobs/HASH
  const fs::path entry = home.parent_path().parent_path();
  if (home.parent_path().filename() == "snapshots" && IsInside(real, entry / "blobs")) return path;
  throw ModelError("{}: a link to {}, outside of the model's folder", path.string(), real.string());
}

}  // namespace natsl::model_adapters
