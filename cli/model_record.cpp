#include "cli/model_record.h"

#include "core/json.h"

namespace natsl::cli {
namespace {

using core::Json;
constexpr const char* kWhere = "journal.sqlite";

}  // namespace

reports::ModelRecord ToRecord(const model_adapters::ModelInfo& info) {
  reports::ModelRecord model;
  model.name = info.name;
  model.family = info.family;
  model.weights_fingerprint = info.weights_fingerprint;
  model.tokenizer_fingerprint = info.tokenizer_fingerprint;
  model.dtype = info.dtype;
  model.device = info.device;
  model.max_length = info.max_length;
  model.vocabulary = info.vocabulary;
  model.parameters = info.parameters;
  for (const model_adapters::NatsLayer& layer : info.nats_layers) {
    model.nats_layers.push_back({layer.layer, layer.heads});
  }
  model.settings = info.settings;
  return model;
}

std::string ToJson(const reports::ModelRecord& model) {
  Json json;
  json["name"] = model.name;
  json["family"] = model.family;
  json["weights"] = model.weights_fingerprint;
  json["tokenizer"] = model.tokenizer_fingerprint;
  json["dtype"] = model.dtype;
  json["device"] = model.device;
  json["max_length"] = model.max_length;
  json["vocabulary"] = model.vocabulary;
  json["parameters"] = model.parameters;
  json["nats_layers"] = Json::array();
  for (const reports::NatsLayerRecord& layer : model.nats_layers) {
    json["nats_layers"].push_back(Json::array({layer.layer, layer.heads}));
  }
  json["settings"] = Json::array();
  for (const auto& [name, value] : model.settings) {
    json["settings"].push_back(Json::array({name, value}));
  }
  return json.dump();
}

reports::ModelRecord ModelFromJson(const std::string& text) {
  const Json json = core::ParseJson(text, kWhere, ErrorCode::kData);
  const core::JsonObject object(json, kWhere, ErrorCode::kData);
  reports::ModelRecord model;
  model.name = object.String("name");
  model.family = object.String("family");
  model.weights_fingerprint = object.String("weights");
  model.tokenizer_fingerprint = object.String("tokenizer");
  model.dtype = object.String("dtype");
  model.device = object.String("device");
  model.max_length = object.Int("max_length");
  model.vocabulary = object.Int("vocabulary");
  model.parameters = object.Int("parameters");
  if (object.Has("nats_layers")) {  // versions before kept none
    for (const Json& entry : object.At("nats_layers")) {
      model.nats_layers.push_back({entry.at(0).get<int64_t>(), entry.at(1).get<int64_t>()});
    }
  }
  for (const Json& entry : object.At("settings")) {
    model.settings.emplace_back(entry.at(0).get<std::string>(), entry.at(1).get<std::string>());
  }
  return model;
}

std::string ToJson(const std::vector<reports::Setting>& settings) {
  Json json = Json::array();
  for (const reports::Setting& setting : settings) {
    json.push_back(Json::array({setting.name, setting.value_json, setting.origin}));
  }
  return json.dump();
}

std::vector<reports::Setting> SettingsFromJson(const std::string& text) {
  std::vector<reports::Setting> settings;
  for (const Json& entry : core::ParseJson(text, kWhere, ErrorCode::kData)) {
    settings.push_back({entry.at(0).get<std::string>(), entry.at(1).get<std::string>(),
                        entry.at(2).get<std::string>()});
  }
  return settings;
}

}  // namespace natsl::cli
