// The boundary of a model folder: what its own files name is read inside of it and nowhere else.
#pragma once

#include <filesystem>
#include <string>

namespace natsl::model_adapters {

/// The file `name` of a model folder, which must be inside the folder itself, or, for a folder of
/// the Hugging Face cache (links into ../../blobs), inside that cache entry. Throws Error (model)
/// where the name has a path in it or a link leads elsewhere; the file may be missing.
std::filesystem::path FileInFolder(const std::filesystem::path& folder, const std::string& name);

}  // namespace natsl::model_adapters
