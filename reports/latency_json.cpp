#include "reports/latency_json.h"

#include <cmath>

#include "core/json.h"
#include "latency/record/summary.h"

namespace natsl::reports {
namespace {

using core::Json;
using core::JsonObject;
using latency::LatencyRecord;
using latency::Measurement;
using latency::Point;

constexpr const char* kSchema = "natsl-bench/latency";
constexpr const char* kFileName = "latency.json";

template <typename Value>
Json OrNull(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json ToJson(const Point& point) {
  Json json;
  json["phase"] = Name(point.phase);
  json["batch"] = point.batch;
  json["prompt"] = point.prompt;
  json["depth"] = point.depth;
  json["new_tokens"] = point.new_tokens;
  return json;
}

Json ToJson(const latency::Summary& summary) {
  Json json;
  json["count"] = summary.count;
  json["median"] = summary.median;
  json["median_low_95"] = OrNull(summary.low);
  json["median_high_95"] = OrNull(summary.high);
  json["minimum"] = summary.minimum;
  json["maximum"] = summary.maximum;
  json["mean"] = summary.mean;
  json["deviation"] = summary.deviation;
  json["p90"] = OrNull(summary.p90);
  json["p99"] = OrNull(summary.p99);
  return json;
}

Json ToJson(const latency::Memory& memory) {
  Json json;
  json["weights_bytes"] = memory.weights_bytes;
  json["kv_bytes"] = memory.kv_bytes;
  json["recurrent_bytes"] = memory.recurrent_bytes;
  json["convolution_bytes"] = memory.convolution_bytes;
  json["activations_bytes"] = OrNull(memory.activations_bytes);
  json["peak_bytes"] = OrNull(memory.peak_bytes);
  json["state_bytes_per_token"] = memory.state_bytes_per_token;
  json["pass_tokens"] = memory.pass_tokens > 0 ? Json(memory.pass_tokens) : Json();
  json["source"] = memory.source;
  return json;
}

Json ToJson(const latency::Roofline& roofline) {
  Json json;
  json["flops"] = roofline.flops;
  json["bytes"] = roofline.bytes;
  json["limit_seconds"] = OrNull(roofline.limit_seconds);
  json["compute_share"] = OrNull(roofline.compute_share);
  json["bandwidth_share"] = OrNull(roofline.bandwidth_share);
  if (!roofline.absent.empty()) json["absent_because"] = roofline.absent;
  return json;
}

Json ToJson(const latency::GpuReading& gpu) {
  Json json;
  json["sm_mhz"] = gpu.sm_mhz;
  json["memory_mhz"] = gpu.memory_mhz;
  json["watts"] = gpu.watts;
  json["celsius"] = gpu.celsius;
  json["joules_per_token"] = OrNull(gpu.joules_per_token);
  json["throttle_reasons"] = gpu.throttle_reasons;
  return json;
}

Json ToJson(const Measurement& measurement) {
  Json json;
  json["test"] = Name(measurement.point);
  json["variant"] = measurement.variant;
  json["point"] = ToJson(measurement.point);
  json["cold_seconds"] = measurement.cold_seconds;
  json["warm_up_seconds"] = measurement.warm_up;
  json["samples_seconds"] = measurement.samples;
  json["rounds"] = measurement.rounds;
  json["stopped_because"] = measurement.stopped_because;
  json["summary"] = ToJson(measurement.summary);
  if (!measurement.steps.empty()) {
    json["steps_seconds"] = measurement.steps;
    json["step_summary"] = ToJson(measurement.step_summary);
  }
  json["memory"] = ToJson(measurement.memory);
  json["roofline"] = ToJson(measurement.roofline);
  if (!measurement.softmax_shares.empty()) {
    for (const latency::HeadShare& share : measurement.softmax_shares) {
      json["softmax_shares"].push_back({{"layer", share.layer},
                                        {"head", share.head},
                                        {"softmax_chunks", share.softmax_chunks},
                                        {"chunks", share.chunks}});
    }
  }
  if (measurement.gpu) json["gpu"] = ToJson(*measurement.gpu);
  json["labels"] = measurement.labels;
  return json;
}

Json ToJson(const latency::Variant& variant) {
  Json json;
  json["role"] = variant.role;
  json["model"] = variant.model;
  json["label"] = variant.label;
  json["forced_softmax_share"] = OrNull(variant.softmax_share);
  json["family"] = variant.family;
  json["dtype"] = variant.dtype;
  json["device"] = variant.device;
  json["weights_fingerprint"] = variant.weights_fingerprint;
  json["parameters"] = variant.parameters;
  json["weights_bytes"] = variant.weights_bytes;
  json["max_length"] = variant.max_length;
  json["vocabulary"] = variant.vocabulary;
  return json;
}

Json ToJson(const std::optional<latency::CanaryRates>& rates) {
  if (!rates) return nullptr;
  return {{"flops_per_second", rates->flops_per_second},
          {"bytes_per_second", rates->bytes_per_second}};
}

Json ToJson(const latency::Machine& machine) {
  Json json;
  json["host"] = machine.host;
  json["boot_id"] = machine.boot_id;
  json["cpu"] = machine.cpu;
  json["cores"] = machine.cores;
  json["memory_bytes"] = machine.memory_bytes;
  json["kernel"] = machine.kernel;
  json["governor"] = machine.governor;
  json["mhz"] = {machine.mhz_before, machine.mhz_after};
  json["load"] = {machine.load_before, machine.load_after};
  json["gpus"] = Json::array();
  for (const latency::GpuDescription& gpu : machine.gpus) {
    json["gpus"].push_back({{"name", gpu.name},
                            {"uuid", gpu.uuid},
                            {"driver", gpu.driver},
                            {"memory_bytes", gpu.memory_bytes},
                            {"highest_sm_mhz", gpu.highest_sm_mhz}});
  }
  if (!machine.gpu_absent.empty()) json["gpu_absent_because"] = machine.gpu_absent;
  if (machine.gpu_before) json["gpu_before"] = ToJson(*machine.gpu_before);
  if (machine.gpu_after) json["gpu_after"] = ToJson(*machine.gpu_after);
  json["canary"]["host_before"] = ToJson(machine.canary_before);
  json["canary"]["host_after"] = ToJson(machine.canary_after);
  json["canary"]["device_before"] = ToJson(machine.device_before);
  json["canary"]["device_after"] = ToJson(machine.device_after);
  return json;
}

Json ToJson(const latency::MethodSettings& settings) {
  Json json;
  json["interval_target"] = settings.interval_target;
  json["seconds_per_point"] = settings.seconds_per_point;
  json["min_samples"] = settings.min_samples;
  json["max_samples"] = settings.max_samples;
  json["depth_state"] = settings.depth_state;
  json["ids"] = settings.ids;
  json["seed"] = settings.seed;
  json["batch_tokens"] = settings.batch_tokens;
  json["threads"] = settings.threads;
  return json;
}

Json Analyses(const LatencyRecord& record) {
  Json json;
  json["fits"] = Json::array();
  for (const latency::LengthFit& fit : record.fits) {
    Json entry{{"variant", fit.variant}, {"phase", Name(fit.phase)}, {"batch", fit.batch}};
    if (fit.valid) {
      entry["seconds"] = {{"constant", fit.a}, {"per_token", fit.b}, {"per_token_squared", fit.c}};
      entry["largest_relative_error"] = fit.largest_error;
    }
    entry["exponent"] = OrNull(fit.exponent);
    entry["exponent_low_95"] = OrNull(fit.exponent_low);
    entry["exponent_high_95"] = OrNull(fit.exponent_high);
    entry["exponent_lengths"] = fit.exponent_points;
    json["fits"].push_back(std::move(entry));
  }
  json["speed_ups"] = Json::array();
  for (const latency::SpeedUp& speed_up : record.speed_ups) {
    json["speed_ups"].push_back({{"test", Name(speed_up.point)},
                                 {"variant", speed_up.variant},
                                 {"baseline", speed_up.baseline},
                                 {"ratio", speed_up.ratio},
                                 {"low_95", OrNull(speed_up.low)},
                                 {"high_95", OrNull(speed_up.high)}});
  }
  json["crossovers"] = Json::array();
  for (const latency::Crossover& crossover : record.crossovers) {
    json["crossovers"].push_back({{"variant", crossover.variant},
                                  {"baseline", crossover.baseline},
                                  {"phase", Name(crossover.phase)},
                                  {"batch", crossover.batch},
                                  {"tokens", OrNull(crossover.length)},
                                  {"faster", crossover.text}});
  }
  return json;
}

std::filesystem::path FileOf(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored) ? path / kFileName : path;
}

latency::Phase PhaseOf(const JsonObject& json) {
  const std::string name = json.String("phase");
  for (const latency::Phase phase : latency::AllPhases()) {
    if (name == Name(phase)) return phase;
  }
  throw json.Wrong("phase", "a phase of this version");
}

Measurement ReadMeasurement(const JsonObject& json, size_t variants) {
  Measurement measurement;
  measurement.variant = json.Int("variant");
  if (measurement.variant < 0 || !std::cmp_less(measurement.variant, variants)) {
    throw json.Wrong("variant", "an index into \"variants\"");
  }
  const JsonObject point = json.Object("point");
  measurement.point = {.phase = PhaseOf(point),
                       .batch = point.Int("batch"),
                       .prompt = point.Int("prompt"),
                       .depth = point.Int("depth"),
                       .new_tokens = point.Int("new_tokens")};
  const Json& samples = json.At("samples_seconds");
  if (!samples.is_array()) throw json.Wrong("samples_seconds", "a list of numbers");
  for (const Json& sample : samples) {
    const double seconds = sample.is_number() ? sample.get<double>() : -1;
    if (!(seconds > 0) || !std::isfinite(seconds)) {
      throw json.Wrong("samples_seconds", "positive numbers");
    }
    measurement.samples.push_back(seconds);
    measurement.rounds.push_back(static_cast<int64_t>(measurement.rounds.size()));
  }
  measurement.stopped_because = json.String("stopped_because");
  measurement.labels = json.Strings("labels");
  measurement.summary = latency::Summarize(measurement.samples);
  return measurement;
}

latency::Variant ReadVariant(const JsonObject& json) {
  latency::Variant variant;
  variant.role = json.String("role");
  variant.model = json.String("model");
  variant.label = json.String("label");
  if (json.Has("forced_softmax_share")) variant.softmax_share = json.Double("forced_softmax_share");
  variant.dtype = json.String("dtype");
  variant.device = json.String("device");
  variant.weights_fingerprint = json.String("weights_fingerprint");
  return variant;
}

void ReadMachine(const JsonObject& json, latency::Machine& machine) {
  machine.host = json.String("host");
  machine.boot_id = json.String("boot_id");
  machine.cpu = json.String("cpu");
  machine.cores = json.Int("cores");
  machine.memory_bytes = json.Int("memory_bytes");
  const Json& gpus = json.At("gpus");
  if (!gpus.is_array()) throw json.Wrong("gpus", "a list");
  for (const Json& entry : gpus) {
    const JsonObject gpu(entry, json.where() + ": gpus", ErrorCode::kData);
    machine.gpus.push_back({.name = gpu.String("name"),
                            .uuid = gpu.String("uuid"),
                            .driver = gpu.String("driver"),
                            .memory_bytes = gpu.Int("memory_bytes")});
  }
}

void ReadSettings(const JsonObject& json, latency::MethodSettings& settings) {
  settings.interval_target = json.Double("interval_target");
  settings.depth_state = json.String("depth_state");
  settings.ids = json.String("ids");
  settings.batch_tokens = json.Int("batch_tokens");
  settings.threads = json.Int("threads");
}

}  // namespace

std::string LatencyJson(const LatencyRecord& record) {
  Json json;
  json["schema"] = kSchema;
  json["schema_version"] = latency::kRecordVersion;
  json["method"] = record.method;
  json["program"] = {
      {"name", "natsl-bench"}, {"version", record.program_version}, {"build", record.build}};
  json["arguments"] = record.arguments;
  json["started_utc"] = record.started_utc;
  json["ended_utc"] = record.ended_utc;
  json["complete"] = record.complete;
  if (!record.incomplete_because.empty()) json["incomplete_because"] = record.incomplete_because;
  json["labels"] = record.labels;
  json["settings"] = ToJson(record.settings);
  json["machine"] = ToJson(record.machine);
  json["variants"] = Json::array();
  for (const latency::Variant& variant : record.variants) {
    json["variants"].push_back(ToJson(variant));
  }
  json["measurements"] = Json::array();
  for (const Measurement& measurement : record.measurements) {
    json["measurements"].push_back(ToJson(measurement));
  }
  json.update(Analyses(record));
  return json.dump(1) + "\n";
}

LatencyRecord ReadLatencyJson(const std::filesystem::path& path) {
  const std::filesystem::path file = FileOf(path);
  const Json json = core::ReadJsonFile(file, ErrorCode::kData, {.unique_keys = true});
  const JsonObject object(json, file.string(), ErrorCode::kData);
  if (object.String("schema") != kSchema) throw object.Wrong("schema", kSchema);
  if (object.Int("schema_version") != latency::kRecordVersion) {
    throw object.Wrong("schema_version",
                       fmt::format("{}; measure again with this version", latency::kRecordVersion));
  }
  LatencyRecord record;
  record.method = object.String("method");
  record.program_version = object.Object("program").String("version");
  record.started_utc = object.String("started_utc");
  record.complete = object.Bool("complete");
  if (object.Has("incomplete_because")) {
    record.incomplete_because = object.String("incomplete_because");
  }
  record.labels = object.Strings("labels");
  ReadSettings(object.Object("settings"), record.settings);
  ReadMachine(object.Object("machine"), record.machine);
  for (const char* key : {"variants", "measurements"}) {
    const Json& list = object.At(key);
    if (!list.is_array()) throw object.Wrong(key, "a list");
    for (size_t i = 0; i < list.size(); ++i) {
      const JsonObject entry(list[i], fmt::format("{}: {}[{}]", file.string(), key, i),
                             ErrorCode::kData);
      if (std::string_view(key) == "variants") {
        record.variants.push_back(ReadVariant(entry));
      } else {
        record.measurements.push_back(ReadMeasurement(entry, record.variants.size()));
      }
    }
  }
  return record;
}

bool IsLatencyRun(const std::filesystem::path& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    return std::filesystem::exists(path / kFileName, ignored);
  }
  return std::filesystem::is_regular_file(path, ignored);
}

}  // namespace natsl::reports
