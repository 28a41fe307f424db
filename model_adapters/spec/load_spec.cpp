// config.json -> ModelSpec: the dialect's edges; the families do the rest.
#include <array>
#include <cmath>
#include <limits>
#include <span>

#include "core/files.h"
#include "core/json.h"
#include "core/limits.h"
#include "model_adapters/model_folder.h"
#include "model_adapters/spec/checkpoint.h"
#include "model_adapters/spec/family.h"

namespace natsl::model_adapters {
namespace {

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

/// Elements of a layer's recurrent state, as factors.
struct StateFactors {
  std::array<int64_t, 3> operator()(const AttentionSpec&) const { return {0, 0, 0}; }
  std::array<int64_t, 3> operator()(const DeltaNetSpec& mixer) const {
    return {mixer.value_heads, mixer.key_dim, mixer.value_dim};
  }
  std::array<int64_t, 3> operator()(const NatsSpec& mixer) const { return (*this)(mixer.delta); }
  std::array<int64_t, 3> operator()(const LinearAttentionSpec& mixer) const {
    return {mixer.heads, mixer.key_dim, mixer.value_dim};
  }
  std::array<int64_t, 3> operator()(const HgrnSpec& mixer) const { return {mixer.width, 1, 1}; }
  std::array<int64_t, 3> operator()(const Mamba2Spec& mixer) const {
    return {mixer.heads, mixer.head_dim, mixer.state};
  }
  std::array<int64_t, 3> operator()(const Rwkv6Spec& mixer) const {
    return {mixer.heads, mixer.key_dim, mixer.value_dim};
  }
};

bool IsTooLarge(std::span<const int64_t> sizes) {
  int64_t product = 1;
  for (const int64_t size : sizes) {
    if (__builtin_mul_overflow(product, size, &product) || product > kMaxProduct) return true;
  }
  return false;
}

/// No weight and no state may have more than 2^40 elements, so that sizes in bytes never overflow.
void CheckSizes(const ModelSpec& spec, std::string_view where) {
  for (const SlotSpec& slot : ExpectedSlots(spec)) {
    if (IsTooLarge(slot.shape)) {
      throw ModelError("{}: {} [{}] is larger than 2^40 elements", where, slot.slot,
                       fmt::join(slot.shape, ", "));
    }
  }
  for (size_t i = 0; i < spec.layers.size(); ++i) {
    if (IsTooLarge(std::visit(StateFactors{}, spec.layers[i].mixer))) {
      throw ModelError("{}: the state of layer {} is larger than 2^40 elements", where, i);
    }
  }
}

}  // namespace

ModelSpec ParseModelSpec(std::string_view text, std::string_view where) {
  core::Json json = core::ParseJson(text, where, ErrorCode::kModel,
                                    {.max_depth = limits::kMaxConfigDepth, .python_numbers = true, .unique_keys = true});
  RestoreFloats(json);
  ConfigReader config(json, std::string(where));
  if (!config.HasValue("model_type")) {
    throw ModelError("{}: \"model_type\" is missing, expected one of {}", where,
                     fmt::join(SupportedModelTypes(), ", "));
  }
  const std::string model_type = config.Text("model_type", "");
  config.RequireNull("quantization_config", "quantized weights; save the model dequantized");
  ModelSpec spec = FindFamily(model_type, where).parse(config);
  spec.family = model_type;
  CheckSizes(spec, where);
  for (std::string& key : config.Unread()) spec.ignored_keys.push_back(std::move(key));
  return spec;
}

ModelSpec LoadModelSpec(const std::filesystem::path& path) {
  std::error_code ignored;
  const bool is_folder = std::filesystem::is_directory(path, ignored);
  const std::filesystem::path file = is_folder ? FileInFolder(path, "config.json") : path;
  return ParseModelSpec(core::ReadFile(file, ErrorCode::kModel, limits::kMaxConfigBytes), file.string());
}

}  // namespace natsl::model_adapters
