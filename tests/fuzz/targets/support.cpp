#include "tests/fuzz/targets/support.h"

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>

namespace natsl::fuzz {
namespace fs = std::filesystem;

std::vector<std::string_view> Parts(std::string_view input, size_t least) {
  std::vector<std::string_view> parts;
  for (size_t end; (end = input.find(kSeparator)) != std::string_view::npos;) {
    parts.push_back(input.substr(0, end));
    input.remove_prefix(end + kSeparator.size());
  }
  parts.push_back(input);
  parts.resize(std::max(least, parts.size()));
  return parts;
}

const fs::path& ScratchFolder() {
  struct Folder {
    fs::path path = fs::temp_directory_path() / fmt::format("natsl_fuzz_{}", ::getpid());
    Folder() { fs::create_directories(path); }
    ~Folder() {
      std::error_code error;
      fs::remove_all(path, error);
    }
  };
  static const Folder folder;
  return folder.path;
}

fs::path ScratchFile(const std::string& name, std::string_view bytes) {
  const fs::path file = ScratchFolder() / name;
  std::error_code error;
  fs::create_directories(file.parent_path(), error);
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return file;
}

}  // namespace natsl::fuzz
