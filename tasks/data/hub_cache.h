// Finding a dataset's files in a Hugging Face cache folder (datasets--ORG--NAME/snapshots/REV/...).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace natsl::tasks {

/// Folders that may hold hub caches: the root, root/hub and the user's own.
std::vector<std::filesystem::path> HubCaches(const std::filesystem::path& root);

/// Files of `pattern` ("ORG/NAME:GLOB", `*` within a path component), sorted; of the snapshot that
/// refs/main names, else of the last one by name. Empty where there is none.
std::vector<std::filesystem::path> FindInHub(const std::filesystem::path& root,
                                             const std::string& pattern);

/// Whether `text` matches `pattern`, where `*` stands for any run of characters.
bool MatchesGlob(std::string_view text, std::string_view pattern);

}  // namespace natsl::tasks
