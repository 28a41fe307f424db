// Safetensors bytes and folders for tests.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>

namespace natsl::model_adapters {

/// A file's bytes: the length, the header padded with spaces to a multiple of 8, then the data.
inline std::string FileBytes(std::string header, std::string_view data, bool pad = true) {
  if (pad) header.resize((header.size() + 7) / 8 * 8, ' ');
  std::string bytes(8, '\0');
  const uint64_t length = header.size();
  std::memcpy(bytes.data(), &length, 8);
  return bytes + header + std::string(data);
}

inline std::span<const std::byte> AsBytes(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

/// A fresh folder that goes away with the test.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::string& name)
      : path_(std::filesystem::temp_directory_path() /
              ("natsl-" + name + "-" + std::to_string(::getpid()) + "-" + std::to_string(Id()))) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path Write(const std::string& name, std::string_view content) const {
    std::ofstream(path_ / name, std::ios::binary) << content;
    return path_ / name;
  }

 private:
  static int Id() {
    static int count = 0;
    return ++count;
  }
  std::filesystem::path path_;
};

}  // namespace natsl::model_adapters
