// Loads natsl_parquet on first use.
#include "tasks/data/parquet.h"

#include <dlfcn.h>

#include "core/modules.h"

namespace natsl::tasks {
namespace {

namespace fs = std::filesystem;

struct Module {
  ReadParquetFunction read = nullptr;
  std::string problem;
};

Module Load() {
  Module module;
  if (const fs::path place = core::FindModule("natsl_parquet.so"); !place.empty()) {
    void* library = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
    void* symbol = library == nullptr ? nullptr : dlsym(library, kReadParquetSymbol);
    if (symbol == nullptr) {
      module.problem = fmt::format("the Parquet reader doesn't load: {}", dlerror());
    }
    module.read = reinterpret_cast<ReadParquetFunction>(symbol);
    return module;
  }
  module.problem =
      "this build has no Parquet reader; run scripts/setup, which fetches it (elsewhere: cmake "
      "-DNATSL_ARROW=DIR with PyPI's pyarrow in DIR), or give the dataset as JSONL";
  return module;
}

const Module& TheModule() {
  static const Module module = Load();
  return module;
}

}  // namespace

bool HasParquet() { return TheModule().read != nullptr; }

std::vector<Record> ReadParquet(const fs::path& file, const std::string& name) {
  const Module& module = TheModule();
  if (module.read == nullptr) throw DataError("{}: {}", name, module.problem);
  std::vector<Record> records;
  module.read(file.string(), name, records);
  return records;
}

}  // namespace natsl::tasks
