// The reference's answers and data, which lie beside the checkout.
#pragma once

#include <filesystem>
#include <string>

namespace natsl::cli {

inline const std::filesystem::path kShared =
    std::filesystem::path(NATSL_SOURCE_DIR) / ".." / "shared";

/// The text of a .gz file; empty where there is none.
std::string Unzip(const std::filesystem::path& file);

}  // namespace natsl::cli
