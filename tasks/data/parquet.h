// Reading Parquet files, which is how the Hugging Face hub keeps most datasets. Arrow is heavy, so
// its reader is a module that is loaded when a Parquet file is first opened (build option
// NATSL_ARROW).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tasks/data_source.h"

namespace natsl::tasks {

/// Whether the module is there and loads.
bool HasParquet();

/// One record a row: columns in schema order; strings, integers, floats, booleans, lists and
/// structs as JSON, missing values as null. `where` is "name: row N". Throws Error (data): not
/// Parquet, an unsupported column type by name, or no module (with what to do).
std::vector<Record> ReadParquet(const std::filesystem::path& file, const std::string& name);

/// What natsl_parquet exports under kReadParquetSymbol; throws as ReadParquet.
using ReadParquetFunction = void (*)(const std::string& file, const std::string& name,
                                     std::vector<Record>& records);
constexpr const char* kReadParquetSymbol = "natsl_read_parquet";

}  // namespace natsl::tasks
