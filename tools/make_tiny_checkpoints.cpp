// Writes the sample checkpoints: make-tiny-checkpoints FOLDER (samples/models in the repository).
#include <cstdio>
#include <filesystem>

#include "core/error.h"
#include "core/files.h"
#include "tools/tiny_checkpoints/tiny_checkpoints.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: make-tiny-checkpoints FOLDER\n");
    return 2;
  }
  try {
    for (const auto& [name, content] : natsl::tools::TinyCheckpointFiles()) {
      const std::filesystem::path path = std::filesystem::path(argv[1]) / name;
      std::filesystem::create_directories(path.parent_path());
      natsl::core::WriteFileAtomic(path, content);
      std::printf("%s  %zu bytes\n", path.c_str(), content.size());
    }
  } catch (const natsl::Error& error) {
    std::fprintf(stderr, "make-tiny-checkpoints: %s\n", error.what());
    return static_cast<int>(error.code());
  }
  return 0;
}
