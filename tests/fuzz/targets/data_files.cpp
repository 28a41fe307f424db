// Data files and what is known of them.
#include "tasks/data/compressed.h"
#include "tasks/data/manifest.h"
#include "tasks/data/parquet.h"
#include "tasks/data_source.h"
#include "tests/fuzz/targets.h"
#include "tests/fuzz/targets/support.h"

namespace natsl::fuzz {

using namespace tasks;

void FuzzDataJson(std::string_view input) {
  const DataSource source(ScratchFolder());
  for (const char* name : {"records.json", "records.jsonl"}) {
    const std::filesystem::path file = ScratchFile(name, input);
    Refusable([&] { source.Read(file); });
  }
}

void FuzzCompressed(std::string_view input) {
  for (const char* name : {"text.gz", "text.zst"}) {
    const std::filesystem::path file = ScratchFile(name, input);
    Refusable([&] { ReadPossiblyCompressed(file, name); });
  }
}

void FuzzParquet(std::string_view input) {
  if (!HasParquet()) return;  // built without Arrow
  const std::filesystem::path file = ScratchFile("rows.parquet", input);
  Refusable([&] { ReadParquet(file, "rows.parquet"); });
}

void FuzzManifest(std::string_view input) {
  Refusable([&] { ParseManifest(input, "manifest.json"); });
}

}  // namespace natsl::fuzz
