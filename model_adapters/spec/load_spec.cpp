// config.json -> ModelSpec: the dialect's edges; the families do the rest.
#include <cmath>
#include <limits>

#include "core/files.h"
#include "core/json.h"
#include "model_adapters/safetensors/reader.h"
#include "model_adapters/spec/checkpoint.h"
#include "model_adapters/spec/family.h"

namespace natsl::model_adapters {
namespace {

constexpr int64_t kMaxConfigBytes = int64_t{1} << 20;

/// {"__float__": "Infinity"}, as newer transformers writes what JSON can't say, becomes the number.
void RestoreFloats(core::Json& value) {
  if (value.is_object() && value.size() == 1 && value.contains("__float__")) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const core::Json& text = value["__float__"];
    if (text == "Infinity") {
      value = kInfinity;
    } else if (text == "-Infinity") {
      value = -kInfinity;
    } else if (text == "NaN") {
      value = std::nan("");
    }
    return;
  }
  if (!value.is_structured()) return;
  for (core::Json& item : value) RestoreFloats(item);
}

}  // namespace

ModelSpec ParseModelSpec(std::string_view text, std::string_view where) {
  core::Json json = core::ParseJson(text, where, ErrorCode::kModel,
                                    {.max_depth = 32, .python_numbers = true, .unique_keys = true});
  RestoreFloats(json);
  ConfigReader config(json, std::string(where));
  if (!config.HasValue("model_type")) {
    throw ModelError("{}: \"model_type\" is missing, expected one of {}", where,
                     fmt::join(SupportedModelTypes(), ", "));
  }
  const std::string model_type = config.Text("model_type", "");
  ModelSpec spec = FindFamily(model_type, where).parse(config);
  spec.family = model_type;
  for (std::string& key : config.Unread()) spec.ignored_keys.push_back(std::move(key));
  return spec;
}

ModelSpec LoadModelSpec(const std::filesystem::path& path) {
  std::error_code ignored;
  const bool is_folder = std::filesystem::is_directory(path, ignored);
  const std::filesystem::path file = is_folder ? FileInFolder(path, "config.json") : path;
  return ParseModelSpec(core::ReadFile(file, ErrorCode::kModel, kMaxConfigBytes), file.string());
}

}  // namespace natsl::model_adapters
