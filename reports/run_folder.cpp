#include "reports/run_folder.h"

#include "core/files.h"
#include "core/json_errors.h"
#include "reports/run_record.h"
#include "reports/samples_jsonl.h"

namespace natsl::reports {
namespace {

using core::Json;
using core::JsonObject;

StoredTask ReadStoredTask(const JsonObject& json) {
  StoredTask task;
  task.name = json.String("name");
  for (const char* key : {"protocol", "version", "num_fewshot", "data_sha256", "split"}) {
    task.identity[key] = json.At(key).dump();
  }
  task.identity["subset"] = json.Has("subset") ? json.String("subset") : "all";
  task.evaluated = json.Int("evaluated");
  for (const Json& entry : json.At("metrics")) {
    const JsonObject object(entry, json.where(), ErrorCode::kData);
    StoredMetric metric;
    metric.key = object.String("name") + "," + object.String("filter");
    metric.aggregation = object.String("aggregation");
    metric.higher_is_better = object.Bool("higher_is_better");
    metric.has_value = object.Has("value");
    if (metric.has_value) metric.value = object.Double("value");
    metric.documents = object.Int("n");
    task.metrics.push_back(std::move(metric));
  }
  return task;
}

void ReadSamples(const std::filesystem::path& file, StoredTask& task) {
  if (!std::filesystem::exists(file)) return;
  const std::string text = core::ReadFile(file, ErrorCode::kData, int64_t{1} << 40);
  int64_t number = 0;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = text.find('\n', begin);
    if (end == std::string::npos) end = text.size();
    const std::string where = fmt::format("{}:{}", file.string(), ++number);
    const Json json = core::ParseJson(std::string_view(text).substr(begin, end - begin), where,
                                      ErrorCode::kData, {.python_numbers = true});
    const JsonObject row(json, where, ErrorCode::kData);
    const std::string id = row.Has("id") ? row.String("id") : row.At("doc_id").dump();
    const std::string filter = row.String("filter");
    for (StoredMetric& metric : task.metrics) {
      const size_t comma = metric.key.rfind(',');
      const std::string name = metric.key.substr(0, comma);
      if (metric.key.substr(comma + 1) != filter || !row.Has(name)) continue;
      const Json& value = row.At(name);
      std::vector<double> values;
      bool finite = true;
      for (const Json& item : value.is_array() ? value : Json::array({value})) {
        finite &= !item.is_null();  // written so where a value isn't a number, or is infinite
        if (item.is_null()) continue;
        if (!item.is_number()) throw row.Wrong(name, "a number or a list of numbers");
        values.push_back(item.get<double>());
      }
      if (!finite) continue;
      if (values.empty()) throw row.Wrong(name, "a number or a list of numbers");
      metric.samples[id] = std::move(values);
    }
    begin = end + 1;
  }
}

}  // namespace

StoredRun ReadRunFolder(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / "results.json";
  const Json json = core::ReadJsonFile(file, ErrorCode::kData);
  return core::WithJsonErrors(file.string(), ErrorCode::kData, [&] {
    const JsonObject all(json, file.string(), ErrorCode::kData);
    const JsonObject own = all.Object("natsl_bench");
    if (own.Int("schema") != kRunRecordVersion) {
      throw DataError("{}: its schema is {}, expected {}", file.string(), own.Int("schema"),
                      kRunRecordVersion);
    }
    StoredRun run;
    run.folder = folder.string();
    run.model = own.Object("model").String("name");
    for (const Json& entry : own.At("tasks")) {
      StoredTask task = ReadStoredTask(JsonObject(entry, file.string(), ErrorCode::kData));
      ReadSamples(folder / SamplesFileName(task.name), task);
      run.tasks.push_back(std::move(task));
    }
    return run;
  });
}

}  // namespace natsl::reports
