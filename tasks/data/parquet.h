// Reading Parquet files, which is how the Hugging Face hub keeps most datasets.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tasks/data_source.h"

namespace natsl::tasks {

/// Whether this build carries the Arrow reader.
bool HasParquet();

/// One record a row: columns in schema order; strings, integers, floats, booleans, lists and
/// structs as JSON, missing values as null. `where` is "name: row N". Throws Error (data): not
/// Parquet, an unsupported column type by name, or this build has no reader (with what to do).
std::vector<Record> ReadParquet(const std::filesystem::path& file, const std::string& name);

}  // namespace natsl::tasks
