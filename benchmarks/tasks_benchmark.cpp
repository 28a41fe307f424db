// How fast tasks read their data and build requests: HellaSwag's size (10,042 records), made up
// here. The suite's budget for that set is 0.5 s, reading included.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tasks/registry.h"

namespace natsl::tasks {
namespace {

constexpr int64_t kRecords = 10042;

/// A data folder with a file of the published size (about 1.2 kB a record).
class HellaswagFolder {
 public:
  HellaswagFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "natsl-bench-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) std::abort();
    path_ = pattern;
    std::filesystem::create_directories(path_ / "hellaswag");
    std::ofstream out(path_ / "hellaswag" / "hellaswag_val.jsonl");
    const std::string ending =
        "walks over to the table [substeps] and, after looking around the room for a while, picks "
        "up "
        "the bowl  that stands there and pours the dough into it.";
    for (int64_t i = 0; i < kRecords; ++i) {
      out << fmt::format(
                 R"({{"ind": {}, "activity_label": "Baking a cake", "ctx_a": "A man stands in a kitchen number {}. He mixes flour, sugar and eggs until the dough is smooth.", "ctx_b": "the man", "ctx": "A man stands in a kitchen. He mixes flour, sugar and eggs until the dough is smooth. the man", "split": "val", "split_type": "indomain", "label": {}, "endings": ["{}", "{} He smiles.", "{} [title] Then he rests.", "{} É"], "source_id": "activitynet~v_{}"}})",
                 i, i, i % 4, ending, ending, ending, ending, i)
          << '\n';
    }
  }
  ~HellaswagFolder() { std::filesystem::remove_all(path_); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

const HellaswagFolder& Folder() {
  static const HellaswagFolder folder;
  return folder;
}

int64_t BuildAll(const Task& task) {
  int64_t bytes = 0;
  for (int64_t i = 0; i < task.DocumentCount(); ++i) {
    for (const Request& request : task.Requests(i).requests) {
      const auto& pair = std::get<LoglikelihoodRequest>(request);
      bytes += static_cast<int64_t>(pair.context.size() + pair.continuation.size());
    }
  }
  return bytes;
}

/// From the file on disk to the last request string.
void ReadAndBuild(benchmark::State& state) {
  const DataSource data(Folder().path());
  int64_t bytes = 0;
  for (auto _ : state) {
    bytes = BuildAll(*FindTask("hellaswag").load(data, {}));
  }
  state.counters["documents"] = kRecords;
  state.counters["request_bytes"] = static_cast<double>(bytes);
}

/// The strings alone, and with ten examples in front of each.
void Build(benchmark::State& state) {
  TaskOptions options;
  options.few_shot.count = state.range(0);
  options.few_shot.from = "first:100";
  const auto task = FindTask("hellaswag").load(DataSource(Folder().path()), options);
  for (auto _ : state) benchmark::DoNotOptimize(BuildAll(*task));
}

BENCHMARK(ReadAndBuild)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime()->UseRealTime();
BENCHMARK(Build)
    ->Arg(0)
    ->Arg(10)
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime()
    ->UseRealTime();

}  // namespace
}  // namespace natsl::tasks
