// `natsl-bench inspect model`: what a checkpoint is and costs, from its config alone.
#include <CLI/CLI.hpp>
#include <iostream>

#include "cli/checks/number_checks.h"
#include "cli/verbs/inspect.h"
#include "core/json.h"
#include "model_adapters/spec/accounting.h"
#include "model_adapters/spec/checkpoint.h"
#include "reports/console_table.h"

namespace natsl::cli {
namespace {

using core::Json;
using model_adapters::ModelSpec;

constexpr int64_t kLengths[] = {1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072};
constexpr int64_t kFloatBytes = 4, kBfloat16Bytes = 2;

struct InspectModelOptions {
  std::string model;
  std::string dtype = "float32";
  double softmax_share = 0.5;
  bool json = false;
};

std::vector<std::pair<const char*, int64_t>> Parts(const model_adapters::ParameterCounts& counts) {
  return {{"embeddings", counts.embeddings},
          {"head", counts.head},
          {"softmax mixers", counts.softmax_mixers},
          {"linear mixers", counts.linear_mixers},
          {"mixed mixers", counts.mixed_mixers},
          {"mlps", counts.mlps},
          {"norms", counts.norms},
          {"other", counts.other},
          {"total", counts.total()}};
}

Json Costs(const ModelSpec& spec, const InspectModelOptions& options) {
  const int64_t bytes = options.dtype == "bfloat16" ? kBfloat16Bytes : kFloatBytes;
  Json costs = Json::array();
  for (const int64_t length : kLengths) {
    const auto flops = model_adapters::FlopsPerToken(spec, length, options.softmax_share);
    const auto state = model_adapters::StateBytesAt(spec, length, bytes, options.softmax_share);
    Json row;
    row["length"] = length;
    row["flops_a_token"] = flops.total();
    row["kv_bytes"] = state.kv;
    row["recurrent_bytes"] = state.recurrent;
    row["convolution_bytes"] = state.convolution;
    row["state_bytes"] = state.total();
    costs.push_back(std::move(row));
  }
  return costs;
}

Json ToJson(const InspectModelOptions& options) {
  const ModelSpec spec = model_adapters::LoadModelSpec(options.model);
  const model_adapters::ModelDescription description = model_adapters::Describe(spec);
  Json json;
  json["model"] = options.model;
  json["family"] = description.family;
  json["layers"] = description.layers;
  json["layer_kinds"] = Json::object();
  for (const auto& [kind, count] : description.layer_kinds) json["layer_kinds"][kind] = count;
  json["softmax_layer_share"] = description.softmax_layer_share;
  json["mixed_layer_share"] = description.mixed_layer_share;
  json["hidden"] = spec.hidden;
  json["vocabulary"] = spec.vocabulary;
  json["max_positions"] = spec.max_positions ? Json(*spec.max_positions) : Json(nullptr);
  json["parameters"] = Json::object();
  for (const auto& [part, count] : Parts(description.parameters)) json["parameters"][part] = count;
  json["assumed_softmax_share_of_chunks"] = options.softmax_share;
  json["costs"] = Costs(spec, options);
  return json;
}

void Print(const Json& json) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& [key, value] : json.items()) {
    if (value.is_structured()) continue;
    rows.push_back({key, value.is_string() ? value.get<std::string>() : core::PythonJson(value)});
  }
  for (const auto& [kind, count] : json["layer_kinds"].items()) {
    rows.push_back({"layers: " + kind, count.dump()});
  }
  for (const auto& [part, count] : json["parameters"].items()) {
    rows.push_back({"parameters: " + part, count.dump()});
  }
  std::cout << reports::MarkdownTable({"", "Value"}, rows) << "\n";
  rows.clear();
  for (const Json& cost : json["costs"]) {
    rows.push_back({cost["length"].dump(),
                    fmt::format("{:.0f}", cost["flops_a_token"].get<double>()),
                    cost["kv_bytes"].dump(), cost["recurrent_bytes"].dump(),
                    cost["convolution_bytes"].dump(), cost["state_bytes"].dump()});
  }
  std::cout << reports::MarkdownTable({"Length", "FLOPs a token", "KV bytes", "Recurrent bytes",
                                       "Convolution bytes", "State bytes"},
                                      rows);
}

}  // namespace

void AddInspectModel(CLI::App& inspect) {
  CLI::App* verb = inspect.add_subcommand(
      "model", "Layers, parameters, FLOPs a token and state bytes a sequence, from config.json");
  auto options = std::make_shared<InspectModelOptions>();
  verb->add_option("--model", options->model, "Checkpoint folder or config.json")->required();
  verb->add_option("--dtype", options->dtype, "Type of keys, values and convolution tails")
      ->check(CLI::IsMember({"float32", "bfloat16"}))
      ->capture_default_str();
  verb->add_option("--softmax-share", options->softmax_share,
                   "Share of chunks that NAtS-L layers keep for softmax attention")
      ->check(RealNumber(0, 1))
      ->capture_default_str();
  verb->add_flag("--json", options->json, "As JSON");
  verb->callback([options] {
    const Json json = ToJson(*options);
    if (options->json)
      std::cout << core::PythonJson(json, 2) << "\n";
    else
      Print(json);
  });
}

}  // namespace natsl::cli
