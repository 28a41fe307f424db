// Writing and reading checkpoints.
#include "training/loop/checkpoint.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <charconv>

#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "model_adapters/safetensors/reader.h"
#include "model_adapters/safetensors/writer.h"

namespace natsl::training {
namespace {

namespace fs = std::filesystem;

constexpr const char* kStateFile = "training_state.safetensors";

core::DType DTypeOf(const at::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kFloat:
      return core::DType::kFloat32;
    case at::kBFloat16:
      return core::DType::kBFloat16;
    case at::kLong:
      return core::DType::kInt64;
    default:
      throw InternalError("checkpoint: an unexpected tensor type");
  }
}

void Add(model_adapters::SafetensorsWriter& writer, const std::string& name, at::Tensor tensor) {
  tensor = tensor.detach().to(at::kCPU).contiguous();
  const auto* data = static_cast<const std::byte*>(tensor.const_data_ptr());
  writer.Add(name, DTypeOf(tensor), tensor.sizes().vec(),
             {data, static_cast<size_t>(tensor.nbytes())});
}

at::Tensor ReadTensor(const model_adapters::TensorView& view) {
  if (view.dtype != core::DType::kInt64 && view.dtype != core::DType::kFloat32) {
    throw DataError("a tensor of type {}, expected F32 or I64", view.dtype_name);
  }
  const bool whole = view.dtype == core::DType::kInt64;
  at::Tensor tensor = at::empty(view.shape, at::TensorOptions(whole ? at::kLong : at::kFloat));
  std::copy_n(view.data, view.bytes, static_cast<std::byte*>(tensor.mutable_data_ptr()));
  return tensor;
}

/// What makes the tokenizer, so that the checkpoint opens by itself.
void CopyTokenizer(const fs::path& tokenizer, const fs::path& folder) {
  const auto copy = [&](const fs::path& from, const std::string& name) {
    core::WriteFileAtomic(folder / name, core::ReadFile(from, ErrorCode::kModel));
  };
  if (!fs::is_directory(tokenizer)) {
    // A file of any name: one that a folder's tokenizer is looked for under.
    const std::string name = tokenizer.filename().string();
    const bool json = name.find(".json") != std::string::npos ||
                      core::ReadFile(tokenizer, ErrorCode::kModel).starts_with('{');
    return copy(tokenizer, name.ends_with(".gz") ? "tokenizer.json.gz"
                           : json                ? "tokenizer.json"
                                                 : "tokenizer.model");
  }
  for (const char* name : {"tokenizer.model", "spiece.model", "tokenizer.json", "tokenizer.json.gz",
                           "tokenizer_config.json", "special_tokens_map.json"}) {
    if (fs::exists(tokenizer / name)) copy(tokenizer / name, name);
  }
}

}  // namespace

void SaveModel(const fs::path& folder, const std::map<std::string, at::Tensor>& parameters,
               at::ScalarType dtype, const std::string& config, const fs::path& tokenizer) {
  model_adapters::SafetensorsWriter writer;
  writer.SetMetadata("format", "pt");
  for (const auto& [name, parameter] : parameters) Add(writer, name, parameter.detach().to(dtype));
  core::Json json = core::ParseJson(config, "config.json", ErrorCode::kModel);
  json["torch_dtype"] = dtype == at::kBFloat16 ? "bfloat16" : "float32";
  core::WriteFileAtomic(folder / "config.json", core::PythonJson(json, 2) + "\n");
  CopyTokenizer(tokenizer, folder);
  writer.Write(folder / "model.safetensors");
}

void SaveState(const fs::path& folder, const TrainingState& state) {
  model_adapters::SafetensorsWriter writer;
  writer.SetMetadata("step", std::to_string(state.step));
  writer.SetMetadata("identity", state.identity);
  for (const auto& [name, tensor] : state.tensors) Add(writer, name, tensor);
  writer.Write(folder / kStateFile);
}

std::optional<TrainingState> LoadState(const fs::path& folder) {
  const fs::path path = folder / kStateFile;
  if (!fs::exists(path)) return std::nullopt;
  return InContext("training state", [&]() -> std::optional<TrainingState> {
    const model_adapters::SafetensorsFile file(path);
    TrainingState state;
    const auto step = file.metadata().find("step");
    const auto identity = file.metadata().find("identity");
    if (step == file.metadata().end() || identity == file.metadata().end()) {
      throw DataError("{}: no step or identity in its metadata, expected both", path.string());
    }
    const char* end = step->second.data() + step->second.size();
    if (std::from_chars(step->second.data(), end, state.step).ptr != end || state.step < 0) {
      throw DataError("{}: step is '{}', expected a number", path.string(), step->second);
    }
    state.identity = identity->second;
    for (const auto& [name, view] : file.tensors()) state.tensors[name] = ReadTensor(view);
    return state;
  });
}

}  // namespace natsl::training
