#include "reports/results_json.h"

#include <algorithm>

#include "core/json.h"
#include "reports/softmax_use.h"

namespace natsl::reports {
namespace {

using core::Json;

Json ParseOwn(const std::string& text) {
  return core::ParseJson(text, "record", ErrorCode::kInternal);
}

void AddNumber(Json& json, const std::string& key, const Number& number) {
  if (number.value) {
    json[key] = *number.value;
  } else {
    json[key] = nullptr;
    json[key + "_null_reason"] = number.reason;
  }
}

void AddMetrics(Json& row, const std::vector<MetricRecord>& metrics) {
  for (const MetricRecord& metric : metrics) {
    AddNumber(row, MetricKey(metric), metric.value);
    if (metric.standard_error.value) {
      row[StderrKey(metric)] = *metric.standard_error.value;
    } else {
      row[StderrKey(metric)] = "N/A";
    }
  }
}

/// Pointers to the tasks, by name: the reference sorts these sections.
std::vector<const TaskRecord*> Sorted(const RunRecord& record) {
  std::vector<const TaskRecord*> tasks;
  for (const TaskRecord& task : record.tasks) tasks.push_back(&task);
  std::sort(tasks.begin(), tasks.end(),
            [](const TaskRecord* a, const TaskRecord* b) { return a->name < b->name; });
  return tasks;
}

Json HigherIsBetter(const std::vector<MetricRecord>& metrics) {
  Json json = Json::object();
  for (const MetricRecord& metric : metrics) json[metric.name] = metric.higher_is_better;
  return json;
}

Json Config(const TaskRecord& task) {
  Json json;
  json["task"] = task.name;
  json["dataset_path"] = task.dataset;
  json["test_split"] = task.split;
  json["num_fewshot"] = task.num_fewshot;
  json["metric_list"] = Json::array();
  for (const MetricRecord& metric : task.metrics) {
    Json entry;
    entry["metric"] = metric.name;
    entry["aggregation"] = metric.aggregation;
    entry["higher_is_better"] = metric.higher_is_better;
    json["metric_list"].push_back(std::move(entry));
  }
  json["output_type"] = task.output_type;
  json["metadata"]["version"] = ParseOwn(task.version_json);
  json["metadata"]["protocol"] = task.protocol;
  return json;
}

Json OwnMetric(const MetricRecord& metric) {
  Json json;
  json["name"] = metric.name;
  json["filter"] = metric.filter;
  json["aggregation"] = metric.aggregation;
  json["higher_is_better"] = metric.higher_is_better;
  AddNumber(json, "value", metric.value);
  AddNumber(json, "stderr", metric.standard_error);
  AddNumber(json, "ci95_low", metric.low);
  AddNumber(json, "ci95_high", metric.high);
  json["ci95_method"] =
      metric.interval_method.empty() ? Json(nullptr) : Json(metric.interval_method);
  json["n"] = metric.n;
  return json;
}

/// Nothing for models without NAtS-L layers.
void AddSoftmax(Json& json, const SoftmaxUse& use) {
  if (!use.known()) return;
  if (!use.reason.empty()) return AddNumber(json, "softmax_share", SoftmaxShare(use));
  Json& entry = json["softmax_share"];
  AddNumber(entry, "share", SoftmaxShare(use));
  entry["chunks"] = use.chunks;
  entry["layers"] = Json::array();
  for (const SoftmaxUse::Layer& layer : use.layers) {
    Json row;
    row["layer"] = layer.layer;
    AddNumber(row, "share", SoftmaxShare(use, layer));
    row["softmax_chunks"] = layer.softmax_chunks;
    entry["layers"].push_back(std::move(row));
  }
}

Json OwnTask(const TaskRecord& task) {
  Json json;
  json["name"] = task.name;
  json["summary"] = task.summary;
  json["dataset"] = task.dataset;
  json["split"] = task.split;
  json["protocol"] = task.protocol;
  json["version"] = ParseOwn(task.version_json);
  json["licence"] = task.licence;
  json["few_shot"] = task.few_shot;
  json["num_fewshot"] = task.num_fewshot;
  json["documents"] = task.documents;
  json["evaluated"] = task.evaluated;
  json["subset"] = task.subset.empty() ? Json(nullptr) : Json(task.subset);
  json["data_sha256"] = task.data_sha256;
  json["prompts_sha256"] = task.prompts_sha256;
  json["samples_sha256"] = task.hash;
  if (task.first_request.ids > 0) {
    json["first_request"]["ids"] = task.first_request.ids;
    json["first_request"]["first"] = task.first_request.first;
    json["first_request"]["last"] = task.first_request.last;
  }
  json["metrics"] = Json::array();
  for (const MetricRecord& metric : task.metrics) json["metrics"].push_back(OwnMetric(metric));
  const RequestCounts& counts = task.counts;
  json["requests"]["count"] = counts.requests;
  json["requests"]["context_tokens"] = counts.context_tokens;
  json["requests"]["output_tokens"] = counts.output_tokens;
  json["requests"]["truncated"] = counts.truncated_requests;
  json["requests"]["truncated_tokens"] = counts.truncated_tokens;
  json["requests"]["skipped_documents"] = counts.skipped_documents;
  json["requests"]["failed_documents"] = counts.failed_documents;
  AddSoftmax(json, task.softmax);
  json["deviations"] = task.deviations;
  json["warnings"] = task.warnings;
  return json;
}

Json OwnModel(const ModelRecord& model) {
  Json json;
  json["name"] = model.name;
  json["family"] = model.family;
  json["weights_sha256"] = model.weights_fingerprint;
  json["tokenizer_sha256"] =
      model.tokenizer_fingerprint.empty() ? Json(nullptr) : Json(model.tokenizer_fingerprint);
  json["dtype"] = model.dtype;
  json["device"] = model.device;
  json["max_length"] = model.max_length;
  json["vocabulary"] = model.vocabulary;
  json["parameters"] = model.parameters;
  json["settings"] = Json::object();
  for (const auto& [name, value] : model.settings) json["settings"][name] = value;
  return json;
}

}  // namespace

nlohmann::ordered_json RecordJson(const RunRecord& record) {
  Json json;
  json["schema"] = kRunRecordVersion;
  json["program_version"] = record.program_version;
  json["versions"] = Json::object();
  for (const auto& [name, version] : record.versions) json["versions"][name] = version;
  json["model"] = OwnModel(record.model);
  AddSoftmax(json["model"], record.softmax);
  json["settings"] = Json::object();
  for (const Setting& setting : record.settings) {
    json["settings"][setting.name]["value"] = ParseOwn(setting.value_json);
    json["settings"][setting.name]["origin"] = setting.origin;
  }
  json["tasks"] = Json::array();
  for (const TaskRecord& task : record.tasks) json["tasks"].push_back(OwnTask(task));
  json["groups"] = Json::array();
  for (const GroupRecord& group : record.groups) {
    Json entry;
    entry["name"] = group.name;
    entry["aggregate"] = group.aggregate;
    entry["tasks"] = group.tasks;
    entry["evaluated"] = group.evaluated;
    entry["metrics"] = Json::array();
    for (const MetricRecord& metric : group.metrics) entry["metrics"].push_back(OwnMetric(metric));
    json["groups"].push_back(std::move(entry));
  }
  json["warnings"] = record.warnings;
  return json;
}

namespace {

Json SettingValue(const RunRecord& record, const std::string& name) {
  for (const Setting& setting : record.settings) {
    if (setting.name == name) return ParseOwn(setting.value_json);
  }
  return nullptr;
}

Json RunConfig(const RunRecord& record) {
  Json json;
  json["model"] = record.model.family;
  json["model_args"]["pretrained"] = record.model.name;
  json["model_args"]["dtype"] = record.model.dtype;
  json["model_args"]["max_length"] = record.model.max_length;
  json["model_num_parameters"] = record.model.parameters;
  json["model_dtype"] = record.model.dtype;
  json["device"] = record.model.device;
  json["limit"] = SettingValue(record, "limit");
  json["bootstrap_iters"] = 100000;
  json["gen_kwargs"] = Json::object();
  json["fewshot_seed"] = SettingValue(record, "seed");
  return json;
}

}  // namespace

std::string MetricKey(const MetricRecord& metric) { return metric.name + "," + metric.filter; }
std::string StderrKey(const MetricRecord& metric) {
  return metric.name + "_stderr," + metric.filter;
}

std::string SanitizedModelName(const std::string& name) {
  constexpr std::string_view kReplaced = "\"<>:/|\\?*[]";
  std::string out;
  bool in_run = false;
  for (const char c : name) {
    const bool replaced = kReplaced.find(c) != std::string_view::npos;
    if (!replaced) out += c;
    if (replaced && !in_run) out += "__";
    in_run = replaced;
  }
  return out;
}

std::string ResultsJson(const RunRecord& record) {
  const std::vector<const TaskRecord*> sorted = Sorted(record);
  Json json;
  json["results"] = Json::object();
  for (const TaskRecord& task : record.tasks) {
    Json& row = json["results"][task.name];
    row["name"] = task.name;
    row["alias"] = task.name;
    row["sample_len"] = task.evaluated;
    AddMetrics(row, task.metrics);
  }
  for (const GroupRecord& group : record.groups) {
    if (!group.aggregate) continue;
    Json row;
    row["name"] = group.name;
    row["alias"] = group.name;
    row["sample_len"] = group.evaluated;
    AddMetrics(row, group.metrics);
    json["results"][group.name] = row;
    json["groups"][group.name] = std::move(row);
  }
  json["group_subtasks"] = Json::object();
  for (const GroupRecord& group : record.groups) json["group_subtasks"][group.name] = group.tasks;
  for (const char* section : {"configs", "versions", "n-shot", "higher_is_better", "n-samples"}) {
    json[section] = Json::object();
  }
  for (const TaskRecord* task : sorted) {
    json["configs"][task->name] = Config(*task);
    json["versions"][task->name] = ParseOwn(task->version_json);
    json["n-shot"][task->name] = task->num_fewshot;
    json["higher_is_better"][task->name] = HigherIsBetter(task->metrics);
  }
  for (const TaskRecord& task : record.tasks) {
    json["n-samples"][task.name]["original"] = task.documents;
    json["n-samples"][task.name]["effective"] = task.evaluated;
  }
  json["config"] = RunConfig(record);
  json["max_length"] = record.model.max_length;
  json["task_hashes"] = Json::object();
  for (const TaskRecord& task : record.tasks) json["task_hashes"][task.name] = task.hash;
  json["model_source"] = record.model.family;
  json["model_name"] = record.model.name;
  json["model_name_sanitized"] = SanitizedModelName(record.model.name);
  json["natsl_bench"] = RecordJson(record);
  return core::PythonJson(json, 2) + "\n";
}

nlohmann::ordered_json ExecutionJson(const ExecutionRecord& execution) {
  constexpr double kNsInSecond = 1e9;
  Json json;
  json["schema"] = kRunRecordVersion;
  json["started"] = execution.started_utc;
  json["host"] = execution.host;
  json["processes"] = execution.processes;
  json["threads"] = execution.threads;
  json["phases_seconds"] = Json::object();
  for (const ExecutionRecord::Phase& phase : execution.phases) {
    json["phases_seconds"][phase.name] = static_cast<double>(phase.ns) / kNsInSecond;
  }
  json["batches"] = execution.batches;
  json["computed_tokens"] = execution.computed_tokens;
  json["tasks"] = Json::object();
  for (const ExecutionRecord::TaskShare& share : execution.tasks) {
    Json& row = json["tasks"][share.task];
    row["requests"] = share.requests;
    row["cached"] = share.cached;
    row["resumed"] = share.resumed;
  }
  return json;
}

std::string TimingsJson(const ExecutionRecord& execution) {
  return core::PythonJson(ExecutionJson(execution), 2) + "\n";
}

}  // namespace natsl::reports
