// Where the program's modules are.
#include "core/modules.h"

#include "core/error.h"

namespace natsl::core {

std::filesystem::path ProgramFolder() {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) throw InternalError("cannot find this program's folder: {}", error.message());
  return program.parent_path();
}

std::vector<std::filesystem::path> ModuleFolders() {
  const auto folder = ProgramFolder();
  return {folder, folder.parent_path() / "lib" / "natsl-bench"};
}

std::filesystem::path FindModule(const std::string& file) {
  for (const auto& folder : ModuleFolders()) {
    std::error_code error;
    if (std::filesystem::exists(folder / file, error)) return folder / file;
  }
  return {};
}

}  // namespace natsl::core
