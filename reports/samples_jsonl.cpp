#include "reports/samples_jsonl.h"

#include <algorithm>

#include "core/files.h"
#include "core/json.h"

namespace natsl::reports {
namespace {

using core::Json;

/// A single answer of text or log-prob stands alone, a pair is a list, as the reference has them.
Json Response(const RequestRecord& request) {
  if (request.response.size() == 1) return request.response.front();
  return request.response;
}

Json Arguments(const SampleRecord& sample) {
  Json json = Json::object();
  for (size_t i = 0; i < sample.requests.size(); ++i) {
    const RequestRecord& request = sample.requests[i];
    Json& entry = json[fmt::format("gen_args_{}", i)];
    entry["arg_0"] = request.context;
    if (!request.argument_json.empty()) {
      entry["arg_1"] = core::ParseJson(request.argument_json, "sample", ErrorCode::kInternal);
    }
  }
  return json;
}

template <typename Value>
Json Each(const SampleRecord& sample, Value RequestRecord::*field) {
  Json json = Json::array();
  for (const RequestRecord& request : sample.requests) json.push_back(request.*field);
  return json;
}

/// Numbers that aren't finite are null, and their reason stands beside them.
void AddMetric(Json& json, const SampleMetricRecord& metric) {
  Json values = Json::array();
  std::string reason;
  for (const double value : metric.values) {
    const Number number = Number::Of(value);
    values.push_back(number.value ? Json(*number.value) : Json(nullptr));
    if (!number.value) reason = number.reason;
  }
  json[metric.name] = metric.values.size() == 1 ? values[0] : values;
  if (!reason.empty()) json[metric.name + "_null_reason"] = reason;
}

}  // namespace

std::string SamplesFileName(const std::string& task) {
  std::string name = "samples_" + task + ".jsonl";
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
}

std::string SampleLine(const SampleRecord& sample) {
  Json json;
  json["doc_id"] = sample.doc_id;
  json["doc"] =
      core::ParseJson(sample.doc_json, "sample", ErrorCode::kInternal, {.python_numbers = true});
  json["target"] = sample.target;
  json["arguments"] = Arguments(sample);
  json["resps"] = Json::array();
  json["filtered_resps"] = Json::array();
  for (const RequestRecord& request : sample.requests) {
    json["resps"].push_back(Json::array({Response(request)}));
    if (sample.filtered.empty()) json["filtered_resps"].push_back(Response(request));
  }
  for (const std::string& text : sample.filtered) json["filtered_resps"].push_back(text);
  json["filter"] = sample.filter;
  json["metrics"] = Json::array();
  for (const SampleMetricRecord& metric : sample.metrics) json["metrics"].push_back(metric.name);
  json["doc_hash"] = sample.doc_hash;
  json["prompt_hash"] = sample.prompt_hash;
  json["target_hash"] = sample.target_hash;
  for (const SampleMetricRecord& metric : sample.metrics) {
    AddMetric(json, metric);
  }
  json["id"] = sample.id;
  json["context_tokens"] = Each(sample, &RequestRecord::context_tokens);
  json["output_tokens"] = Each(sample, &RequestRecord::output_tokens);
  json["truncated_tokens"] = Each(sample, &RequestRecord::truncated_tokens);
  for (const RequestRecord& request : sample.requests) {
    if (request.finish.empty()) continue;
    json["finish"] = Each(sample, &RequestRecord::finish);
    break;
  }
  if (!sample.not_scored.empty()) json["not_scored"] = sample.not_scored;
  if (!sample.extra_json.empty()) {
    const Json extra = core::ParseJson(sample.extra_json, "sample", ErrorCode::kInternal);
    for (const auto& [key, value] : extra.items()) json[key] = value;
  }
  return core::PythonJson(json);
}

SamplesWriter::SamplesWriter(std::filesystem::path file, LogSamples which)
    : file_(std::move(file)), which_(which) {}

void SamplesWriter::Add(const SampleRecord& sample) {
  if (which_ == LogSamples::kNone || (which_ == LogSamples::kWrong && !sample.wrong)) return;
  content_ += SampleLine(sample);
  content_ += '\n';
}

void SamplesWriter::Finish() {
  if (which_ != LogSamples::kNone) core::WriteFileAtomic(file_, content_);
  content_.clear();
}

}  // namespace natsl::reports
