// SHA-256, the one hash of the project: fingerprints, data hashes, the reference's prompt hashes.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace natsl::core {

/// Incremental SHA-256.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  void Update(std::string_view bytes);
  /// Hash of all bytes so far as 64 lower-case hex digits. Call once.
  std::string Hex();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string Sha256Hex(std::string_view bytes);
/// Throws Error (data) where the file can't be read.
std::string Sha256HexOfFile(const std::filesystem::path& path);

}  // namespace natsl::core
