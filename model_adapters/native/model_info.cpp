// Description of an opened model; the fixed draw of forced chunk choices.
#include "model_adapters/native/model_info.h"

#include <fmt/ranges.h>
#include <torch/headeronly/version.h>

#include "core/error.h"
#include "core/files.h"
#include "core/hash.h"

namespace natsl::model_adapters::native {
namespace {

// The reference harness's default where a config names no length.
constexpr int64_t kDefaultMaxLength = 2048;

}  // namespace

core::DType DTypeOf(const std::string& name) {
  if (name == "float32") return core::DType::kFloat32;
  if (name == "bfloat16") return core::DType::kBFloat16;
  throw UsageError("dtype is \"{}\", expected float32 or bfloat16", name);
}

ModelInfo DescribeModel(const ModelSpec& spec, const std::string& path,
                        const std::filesystem::path& config, const OpenOptions& options) {
  ModelInfo info;
  info.name = path;
  info.family = spec.family;
  info.dtype = options.dtype;
  info.device = options.device;
  info.max_length = options.max_length.value_or(spec.max_positions.value_or(kDefaultMaxLength));
  info.vocabulary = spec.vocabulary;
  for (size_t layer = 0; layer < spec.layers.size(); ++layer) {
    if (const auto* nats = std::get_if<NatsSpec>(&spec.layers[layer].mixer)) {
      info.nats_layers.push_back({static_cast<int64_t>(layer), nats->nats_heads});
    }
  }
  info.settings = {{"libtorch", TORCH_VERSION},
                   {"batch_tokens", fmt::format("{}", options.batch_tokens)},
                   {"share_prefixes", options.share_prefixes ? "true" : "false"},
                   {"deterministic", options.deterministic ? "true" : "false"}};
  if (options.random_weights_seed) {
    info.weights_fingerprint =
        core::Sha256Hex(fmt::format("random weights, seed {}\n{}", *options.random_weights_seed,
                                    core::ReadFile(config, ErrorCode::kModel)));
    info.settings.emplace_back("random_weights_seed",
                               fmt::format("{}", *options.random_weights_seed));
  }
  if (!spec.ignored_keys.empty()) {
    info.settings.emplace_back("ignored_config_keys",
                               fmt::format("{}", fmt::join(spec.ignored_keys, ", ")));
  }
  if (options.forced_softmax_share) {
    info.settings.emplace_back("forced_softmax_share",
                               fmt::format("{}", *options.forced_softmax_share));
  }
  return info;
}

bool ForcedChoice(int64_t layer, int64_t chunk, int64_t head, double share) {
  uint64_t z = static_cast<uint64_t>(layer) * 0x9E3779B97F4A7C15u +
               static_cast<uint64_t>(chunk) * 0xC2B2AE3D27D4EB4Fu +
               static_cast<uint64_t>(head) * 0x165667B19E3779F9u + 1;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1.0p-53 < share;
}

}  // namespace natsl::model_adapters::native
