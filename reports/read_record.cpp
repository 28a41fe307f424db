#include "reports/read_record.h"

#include <cmath>
#include <utility>

#include "core/json.h"

namespace natsl::reports {
namespace {

using core::Json;
using core::JsonObject;

Number ReadNumber(const JsonObject& json, const std::string& key) {
  if (json.Has(key)) return Number::Of(json.Double(key));
  const std::string reason = key + "_null_reason";
  return Number::Missing(json.Has(reason) ? json.String(reason) : "not recorded");
}

/// A count that fits an int.
int ReadSmallCount(const JsonObject& json, const std::string& key) {
  const int64_t count = json.Int(key);
  if (count < 0 || !std::in_range<int>(count)) throw json.Wrong(key, "a count below 2^31");
  return static_cast<int>(count);
}

std::vector<MetricRecord> ReadMetrics(const JsonObject& owner) {
  std::vector<MetricRecord> metrics;
  for (const Json& entry : owner.At("metrics")) {
    const JsonObject json(entry, owner.where(), ErrorCode::kData);
    MetricRecord metric;
    metric.name = json.String("name");
    metric.filter = json.String("filter");
    metric.aggregation = json.String("aggregation");
    metric.higher_is_better = json.Bool("higher_is_better");
    metric.value = ReadNumber(json, "value");
    metric.standard_error = ReadNumber(json, "stderr");
    metric.low = ReadNumber(json, "ci95_low");
    metric.high = ReadNumber(json, "ci95_high");
    if (json.Has("ci95_method")) metric.interval_method = json.String("ci95_method");
    metric.n = json.Int("n");
    metrics.push_back(std::move(metric));
  }
  return metrics;
}

FirstRequest ReadFirstRequest(const JsonObject& task) {
  FirstRequest request;
  if (!task.Has("first_request")) return request;
  const JsonObject json = task.Object("first_request");
  request.ids = json.Int("ids");
  for (const auto& [key, ids] : {std::pair("first", &request.first), {"last", &request.last}}) {
    for (const Json& id : json.At(key)) {
      const int64_t number = id.get<int64_t>();
      if (!std::in_range<int32_t>(number)) throw json.Wrong(key, "a list of token ids");
      ids->push_back(static_cast<int32_t>(number));
    }
  }
  return request;
}

SoftmaxUse ReadSoftmax(const JsonObject& owner) {
  constexpr const char* kKey = "softmax_share";
  SoftmaxUse use;
  if (!owner.json().contains(kKey)) return use;
  if (!owner.Has(kKey)) return {.reason = ReadNumber(owner, kKey).reason};
  const JsonObject json = owner.Object(kKey);
  use.chunks = json.Int("chunks");
  if (use.chunks < 0) throw json.Wrong("chunks", "a count");
  for (const Json& entry : json.At("layers")) {
    const JsonObject layer(entry, json.where(), ErrorCode::kData);
    use.layers.push_back({layer.Int("layer"), {}});
    for (const Json& softmax : layer.At("softmax_chunks")) {
      const int64_t count = softmax.get<int64_t>();
      if (count < 0 || count > use.chunks) throw layer.Wrong("softmax_chunks", "counts of chunks");
      use.layers.back().softmax_chunks.push_back(count);
    }
  }
  return use;
}

TaskRecord ReadTask(const JsonObject& json) {
  TaskRecord task;
  task.name = json.String("name");
  task.summary = json.String("summary");
  task.dataset = json.String("dataset");
  task.split = json.String("split");
  task.protocol = json.String("protocol");
  task.licence = json.String("licence");
  task.few_shot = json.String("few_shot");
  task.version_json = json.At("version").dump();
  task.num_fewshot = json.Int("num_fewshot");
  task.documents = json.Int("documents");
  task.evaluated = json.Int("evaluated");
  if (json.Has("subset")) task.subset = json.String("subset");
  task.data_sha256 = json.String("data_sha256");
  if (json.Has("prompts_sha256")) task.prompts_sha256 = json.String("prompts_sha256");
  task.hash = json.String("samples_sha256");
  task.first_request = ReadFirstRequest(json);
  task.metrics = ReadMetrics(json);
  const JsonObject requests = json.Object("requests");
  task.counts.requests = requests.Int("count");
  task.counts.context_tokens = requests.Int("context_tokens");
  task.counts.output_tokens = requests.Int("output_tokens");
  task.counts.truncated_requests = requests.Int("truncated");
  task.counts.truncated_tokens = requests.Int("truncated_tokens");
  task.counts.skipped_documents = requests.Int("skipped_documents");
  task.counts.failed_documents = requests.Int("failed_documents");
  task.softmax = ReadSoftmax(json);
  task.deviations = json.Strings("deviations");
  task.warnings = json.Strings("warnings");
  return task;
}

ModelRecord ReadModel(const JsonObject& json) {
  ModelRecord model;
  model.name = json.String("name");
  model.family = json.String("family");
  model.weights_fingerprint = json.String("weights_sha256");
  if (json.Has("tokenizer_sha256")) model.tokenizer_fingerprint = json.String("tokenizer_sha256");
  model.dtype = json.String("dtype");
  model.device = json.String("device");
  model.max_length = json.Int("max_length");
  model.vocabulary = json.Int("vocabulary");
  model.parameters = json.Int("parameters");
  for (const auto& [name, value] : json.At("settings").items()) {
    model.settings.emplace_back(name, value.get<std::string>());
  }
  return model;
}

RunRecord ReadRecord(const JsonObject& json) {
  if (json.Int("schema") != kRunRecordVersion) {
    throw DataError("{}: its schema is {}, expected {}", json.where(), json.Int("schema"),
                    kRunRecordVersion);
  }
  RunRecord record;
  record.program_version = json.String("program_version");
  if (json.Has("versions")) {
    for (const auto& [name, value] : json.At("versions").items()) {
      record.versions.emplace_back(name, value.get<std::string>());
    }
  }
  record.model = ReadModel(json.Object("model"));
  record.softmax = ReadSoftmax(json.Object("model"));
  for (const auto& [name, value] : json.At("settings").items()) {
    const JsonObject setting(value, json.where(), ErrorCode::kData);
    record.settings.push_back(
        {name, core::PythonJson(setting.At("value")), setting.String("origin")});
  }
  for (const Json& entry : json.At("tasks")) {
    record.tasks.push_back(ReadTask(JsonObject(entry, json.where(), ErrorCode::kData)));
  }
  for (const Json& entry : json.At("groups")) {
    const JsonObject object(entry, json.where(), ErrorCode::kData);
    GroupRecord group;
    group.name = object.String("name");
    group.tasks = object.Strings("tasks");
    group.evaluated = object.Int("evaluated");
    group.metrics = ReadMetrics(object);
    group.aggregate = object.Has("aggregate") ? object.Bool("aggregate") : !group.metrics.empty();
    record.groups.push_back(std::move(group));
  }
  record.warnings = json.Strings("warnings");
  return record;
}

ExecutionRecord ReadExecution(const JsonObject& json) {
  constexpr double kNsInSecond = 1e9, kMostSeconds = 9e9;
  ExecutionRecord execution;
  execution.started_utc = json.String("started");
  execution.host = json.String("host");
  execution.threads = ReadSmallCount(json, "threads");
  if (json.Has("processes")) execution.processes = ReadSmallCount(json, "processes");
  const JsonObject phases = json.Object("phases_seconds");
  for (const auto& [name, value] : phases.json().items()) {
    const double seconds = phases.Double(name);
    if (!(seconds >= 0 && seconds <= kMostSeconds)) throw phases.Wrong(name, "seconds");
    execution.phases.push_back({name, static_cast<int64_t>(std::llround(seconds * kNsInSecond))});
  }
  execution.batches = json.Int("batches");
  execution.computed_tokens = json.Int("computed_tokens");
  for (const auto& [name, value] : json.At("tasks").items()) {
    const JsonObject share(value, json.where(), ErrorCode::kData);
    execution.tasks.push_back(
        {name, share.Int("requests"), share.Int("cached"), share.Int("resumed")});
  }
  return execution;
}

}  // namespace

ReportedRun ReadReportedRun(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / "results.json";
  const Json json = core::ReadJsonFile(file, ErrorCode::kData);
  ReportedRun run;
  run.label = folder.string();
  try {
    const JsonObject all(json, file.string(), ErrorCode::kData);
    run.record = ReadRecord(all.Object("natsl_bench"));
    if (const auto timings = folder / "timings.json"; std::filesystem::exists(timings)) {
      const Json times = core::ReadJsonFile(timings, ErrorCode::kData);
      run.execution = ReadExecution(JsonObject(times, timings.string(), ErrorCode::kData));
    }
  } catch (const Json::exception& error) {
    throw DataError("{}: not as natsl-bench writes it: {}", folder.string(), error.what());
  }
  return run;
}

}  // namespace natsl::reports
