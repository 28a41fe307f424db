// Opening a checkpoint folder: names to slots, fused tensors apart, every difference in one error.
#include "model_adapters/spec/checkpoint.h"

#include <cstring>
#include <map>
#include <set>

#include "core/check.h"
#include "core/files.h"
#include "core/hash.h"
#include "model_adapters/model_folder.h"
#include "model_adapters/safetensors/reader.h"
#include "model_adapters/spec/family.h"
#include "model_adapters/spec/names.h"

namespace natsl::model_adapters {
namespace {

constexpr size_t kMaxProblems = 200;

WeightView ViewOf(const TensorView& tensor) {
  WeightView view;
  view.dtype = *tensor.dtype;
  view.shape = tensor.shape;
  view.data = tensor.data;
  const int64_t rows = tensor.shape.empty() ? 1 : tensor.shape[0];
  view.row_stride_bytes = rows == 0 ? 0 : tensor.bytes / rows;
  return view;
}

/// A tensor found in the files, under its slot.
struct Found {
  std::string name;
  const TensorView* tensor;
};

}  // namespace

struct Checkpoint::State {
  ModelSpec spec;
  std::string config;
  std::unique_ptr<SafetensorsFolder> files;
  std::map<std::string, WeightView> weights;
  std::vector<std::vector<std::byte>> copies;  // weights whose rows aren't together in the file
  std::vector<std::string> problems;

  std::map<std::string, Found> FindTensors();
  void SplitQueryKeyValue(std::map<std::string, Found>& found);
  void SplitGateUp(std::map<std::string, Found>& found);
  void Match(const std::map<std::string, Found>& found);
  void Report(const std::filesystem::path& folder) const;
};

std::map<std::string, Found> Checkpoint::State::FindTensors() {
  const std::span<const NameRule> rules = FindFamily(spec.family, "config.json").names;
  const int64_t layers = static_cast<int64_t>(spec.layers.size());
  std::map<std::string, Found> found;
  for (const auto& [name, tensor] : files->tensors()) {
    const std::optional<std::string> slot = SlotOfTensor(name, rules, layers);
    if (IsIgnorableTensor(name)) continue;
    if (!slot) {
      problems.push_back(
          fmt::format("unexpected: {} {}", Printable(name), ShapeText(tensor->shape)));
      continue;
    }
    const bool usable = tensor->dtype == core::DType::kFloat32 ||
                        tensor->dtype == core::DType::kFloat16 ||
                        tensor->dtype == core::DType::kBFloat16;
    if (!usable) {
      problems.push_back(
          fmt::format("{} is {}, expected F32, F16 or BF16", Printable(name), tensor->dtype_name));
    }
    const auto [place, added] = found.try_emplace(*slot, Found{name, tensor});
    if (!added) {
      problems.push_back(fmt::format("{} and {} are the same weight", place->second.name, name));
    }
  }
  return found;
}

/// gpt_neox stores the rows of q, k and v head by head: [heads, 3, head_dim] rows.
void Checkpoint::State::SplitQueryKeyValue(std::map<std::string, Found>& found) {
  for (size_t i = 0; i < spec.layers.size(); ++i) {
    const auto* mixer = std::get_if<AttentionSpec>(&spec.layers[i].mixer);
    if (mixer == nullptr) continue;
    const std::string prefix = fmt::format("layers.{}.mixer.", i);
    for (const std::string_view kind : {"weight", "bias"}) {
      const auto fused = found.find(fmt::format("{}query_key_value.{}", prefix, kind));
      if (fused == found.end()) continue;
      const TensorView& tensor = *fused->second.tensor;
      const int64_t width = mixer->heads * mixer->head_dim;
      const bool is_weight = kind == "weight";
      const std::vector<int64_t> expected = is_weight ? std::vector<int64_t>{3 * width, spec.hidden}
                                                      : std::vector<int64_t>{3 * width};
      if (tensor.shape != expected) {
        problems.push_back(fmt::format("{} is {}, expected {}", fused->second.name,
                                       ShapeText(tensor.shape), ShapeText(expected)));
      }
      const bool right = tensor.shape == expected && tensor.dtype.has_value();
      const int64_t row = right ? tensor.bytes / (3 * width) : 0;
      for (int64_t part = 0; part < 3; ++part) {
        const std::string slot = fmt::format("{}{}_proj.{}", prefix, "qkv"[part], kind);
        WeightView view;
        view.shape = expected;
        view.shape[0] = width;
        if (right) {
          std::vector<std::byte>& copy = copies.emplace_back(static_cast<size_t>(row * width));
          for (int64_t head = 0; head < mixer->heads; ++head) {
            std::memcpy(copy.data() + head * mixer->head_dim * row,
                        tensor.data + (head * 3 + part) * mixer->head_dim * row,
                        static_cast<size_t>(mixer->head_dim * row));
          }
          view.dtype = *tensor.dtype;
          view.data = copy.data();
          view.row_stride_bytes = row;
        }
        weights[slot] = view;
      }
      found.erase(fused);
    }
  }
}

/// Older uploads hold gate and up in one tensor, gate's rows first.
void Checkpoint::State::SplitGateUp(std::map<std::string, Found>& found) {
  for (size_t i = 0; i < spec.layers.size(); ++i) {
    const MlpSpec& mlp = spec.layers[i].mlp;
    const std::string gate = fmt::format("layers.{}.mlp.gate_proj.weight", i);
    const std::string up = fmt::format("layers.{}.mlp.up_proj.weight", i);
    const auto fused = found.find(gate);
    if (mlp.kind != MlpSpec::Kind::kGated || fused == found.end() || found.contains(up)) continue;
    const TensorView& tensor = *fused->second.tensor;
    if (!tensor.dtype || tensor.shape != std::vector<int64_t>{2 * mlp.width, spec.hidden}) continue;
    WeightView view = ViewOf(tensor);
    view.shape[0] = mlp.width;
    weights[gate] = view;
    view.data += mlp.width * view.row_stride_bytes;
    weights[up] = view;
    found.erase(fused);
  }
}

void Checkpoint::State::Match(const std::map<std::string, Found>& found) {
  std::set<std::string> wanted;
  std::vector<SlotSpec> slots = ExpectedSlots(spec);
  // A tied head may be stored all the same.
  if (spec.tied_head && found.contains("head.weight")) {
    slots.push_back({"head.weight", {spec.vocabulary, spec.hidden}});
  }
  for (const SlotSpec& slot : slots) {
    wanted.insert(slot.slot);
    if (weights.contains(slot.slot)) continue;
    const auto place = found.find(slot.slot);
    if (place == found.end()) {
      const auto name = TensorOfSlot(slot.slot, FindFamily(spec.family, "config.json").names,
                                     static_cast<int64_t>(spec.layers.size()));
      problems.push_back(
          fmt::format("missing: {} {}", name.value_or(slot.slot), ShapeText(slot.shape)));
      continue;
    }
    const TensorView& tensor = *place->second.tensor;
    if (tensor.shape != slot.shape) {
      problems.push_back(fmt::format("{} is {}, expected {}", place->second.name,
                                     ShapeText(tensor.shape), ShapeText(slot.shape)));
    } else if (tensor.dtype) {
      weights[slot.slot] = ViewOf(tensor);
    }
  }
  for (const auto& [slot, item] : found) {
    if (wanted.contains(slot)) continue;
    problems.push_back(
        fmt::format("unexpected: {} {}", Printable(item.name), ShapeText(item.tensor->shape)));
  }
}

void Checkpoint::State::Report(const std::filesystem::path& folder) const {
  if (problems.empty()) return;
  const size_t shown = std::min(problems.size(), kMaxProblems);
  std::string text;
  for (size_t i = 0; i < shown; ++i) text += "\n  " + problems[i];
  if (shown < problems.size()) {
    text += fmt::format("\n  and {} more", problems.size() - shown);
  }
  throw ModelError("{}: the weights don't fit config.json (family {}), {} problem{}:{}",
                   folder.string(), spec.family, problems.size(), problems.size() == 1 ? "" : "s",
                   text);
}

std::string TensorName(const ModelSpec& spec, const std::string& slot) {
  const Family& family = FindFamily(spec.family, "writing a checkpoint");
  const auto name = TensorOfSlot(slot, family.names, static_cast<int64_t>(spec.layers.size()));
  if (!name)
    throw InternalError("family {} has no tensor of its own for slot {}", spec.family, slot);
  return *name;
}

Checkpoint::Checkpoint(const std::filesystem::path& folder) : state_(std::make_unique<State>()) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(folder, ignored)) {
    throw ModelError(
        "{}: not a folder, expected a checkpoint's folder with config.json and "
        "model.safetensors",
        folder.string());
  }
  state_->spec = LoadModelSpec(folder);
  state_->config = core::ReadFile(FileInFolder(folder, "config.json"), ErrorCode::kModel);
  state_->files = std::make_unique<SafetensorsFolder>(folder);
  std::map<std::string, Found> found = state_->FindTensors();
  state_->SplitQueryKeyValue(found);
  state_->SplitGateUp(found);
  state_->Match(found);
  state_->Report(folder);
}

Checkpoint::~Checkpoint() = default;
Checkpoint::Checkpoint(Checkpoint&&) noexcept = default;
Checkpoint& Checkpoint::operator=(Checkpoint&&) noexcept = default;

const ModelSpec& Checkpoint::spec() const { return state_->spec; }

bool Checkpoint::Has(const std::string& slot) const { return state_->weights.contains(slot); }

WeightView Checkpoint::Weight(const std::string& slot) const {
  const auto found = state_->weights.find(slot);
  NATSL_CHECK(found != state_->weights.end());
  return found->second;
}

std::string Checkpoint::Fingerprint() const {
  core::Sha256 hash;
  hash.Update(state_->config);
  for (const SafetensorsFile& file : state_->files->files()) hash.Update(file.bytes());
  return hash.Hex();
}

}  // namespace natsl::model_adapters
