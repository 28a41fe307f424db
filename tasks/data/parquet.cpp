// The build without Arrow: Parquet files are refused with the way to get the reader.
#include "tasks/data/parquet.h"

#ifndef NATSL_WITH_ARROW

namespace natsl::tasks {

bool HasParquet() { return false; }

std::vector<Record> ReadParquet(const std::filesystem::path&, const std::string& name) {
  throw DataError(
      "{}: this build can't read Parquet. Rebuild with Arrow: `pip install pyarrow==21.0.0 "
      "--target "
      "DIR`, then cmake -DNATSL_ARROW=DIR/pyarrow; or give the dataset as JSONL",
      name);
}

}  // namespace natsl::tasks

#endif
