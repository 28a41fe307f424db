// A temporary folder of this process alone, removed at its end: tests run side by side, each as a
// process of its own, so that a fixed name under the system's folder would be shared.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

namespace natsl::tests {

inline const std::filesystem::path& ProcessFolder() {
  struct Folder {
    Folder()
        : path(std::filesystem::path(testing::TempDir()) /
               fmt::format("natsl-tests-{}", ::getpid())) {
      std::filesystem::create_directories(path);
    }
    ~Folder() {
      std::error_code ignored;
      std::filesystem::remove_all(path, ignored);
    }
    std::filesystem::path path;
  };
  static const Folder folder;
  return folder.path;
}

}  // namespace natsl::tests
