// A model folder's weights, configuration and index.
#include <cstring>

#include "model_adapters/safetensors/header.h"
#include "model_adapters/safetensors/index.h"
#include "model_adapters/spec/accounting.h"
#include "model_adapters/spec/checkpoint.h"
#include "model_adapters/tokenizer.h"
#include "tests/fuzz/targets.h"
#include "tests/fuzz/targets/support.h"

namespace natsl::fuzz {

using namespace model_adapters;

void FuzzSafetensors(std::string_view input) {
  // As a mapped file: its start is aligned.
  std::vector<std::max_align_t> memory(input.size() / sizeof(std::max_align_t) + 1);
  std::memcpy(memory.data(), input.data(), input.size());
  const std::span bytes(reinterpret_cast<const std::byte*>(memory.data()), input.size());
  Refusable([&] {
    const SafetensorsHeader header = ParseSafetensors(bytes, "model.safetensors");
    // Every byte that a view promises can be read.
    unsigned sum = 0;
    for (const auto& [name, view] : header.tensors) {
      for (int64_t i = 0; i < view.bytes; ++i) sum += std::to_integer<unsigned>(view.data[i]);
      sum += static_cast<unsigned>(view.elements());
    }
    volatile unsigned keep = sum;
    (void)keep;
  });
}

void FuzzConfig(std::string_view input) {
  Refusable([&] {
    const ModelSpec spec = ParseModelSpec(input, "config.json");
    ExpectedSlots(spec);
    CountParameters(spec);
  });
}

void FuzzModelFolder(std::string_view input) {
  const std::vector<std::string_view> parts = Parts(input, 5);
  const std::filesystem::path folder = ScratchFile("model/config.json", parts[0]).parent_path();
  const auto put = [](const std::string& name, std::string_view bytes) {
    const std::filesystem::path file = ScratchFile("model/" + name, bytes);
    if (bytes.empty()) std::filesystem::remove(file);
  };
  put("model.safetensors.index.json", parts[1]);
  put("model.safetensors", parts[2]);
  put("tokenizer.json", parts[3]);
  put("tokenizer_config.json", parts[4]);
  Refusable([&] { Checkpoint checkpoint(folder); });
  Refusable([&] { OpenTokenizer(folder); });
}

}  // namespace natsl::fuzz
