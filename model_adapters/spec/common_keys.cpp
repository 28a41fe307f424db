// Fields that every family's config has.
#include "model_adapters/spec/common_keys.h"

#include "core/json.h"

namespace natsl::model_adapters {
namespace {

/// A token id, or a list of them (the first one counts), or null.
std::optional<int64_t> TokenField(ConfigReader& config, std::string_view key,
                                  std::optional<int64_t> absent) {
  if (config.HasValue(key) && config.Raw(key).is_array()) {
    const std::vector<int64_t> ids = config.Ints(key, {}, 0, kMaxSize);
    return ids.empty() ? std::nullopt : std::optional(ids[0]);
  }
  return config.OptionalInt(key, absent, 0);
}

/// The reference takes the first of these that the config has, class defaults included.
std::optional<int64_t> MaxPositions(ConfigReader& config, std::optional<int64_t> class_default) {
  std::optional<int64_t> found = config.OptionalInt("n_positions", std::nullopt);
  const auto positions = config.OptionalInt("max_position_embeddings", class_default);
  const auto context = config.OptionalInt("n_ctx", std::nullopt);
  if (!found) found = positions;
  if (!found) found = context;
  return found;
}

}  // namespace

ModelSpec CommonSkeleton(ConfigReader& config, const CommonDefaults& defaults) {
  ModelSpec spec;
  spec.vocabulary = config.Int("vocab_size", defaults.vocabulary);
  spec.hidden = config.Int("hidden_size", defaults.hidden);
  CheckedProduct(config, "the embedding (vocab_size times hidden_size)", spec.vocabulary,
                 spec.hidden);
  const int64_t layers = config.Int("num_hidden_layers", defaults.layers, 1, kMaxLayers);
  spec.layers.resize(static_cast<size_t>(layers));
  spec.tied_head = config.Bool("tie_word_embeddings", defaults.tied_head);
  spec.max_positions = MaxPositions(config, defaults.max_positions);
  spec.bos_token = TokenField(config, "bos_token_id", defaults.bos);
  spec.eos_token = TokenField(config, "eos_token_id", defaults.eos);
  config.Inert({"model_type",
                "architectures",
                "transformers_version",
                "return_dict",
                "output_hidden_states",
                "output_attentions",
                "id2label",
                "label2id",
                "problem_type",
                "chunk_size_feed_forward",
                "is_encoder_decoder",
                "_name_or_path",
                "pad_token_id",
                "torch_dtype",
                "dtype",
                "use_cache",
                "initializer_range",
                "auto_map",
                "_attn_implementation_autoset",
                "is_decoder"});
  return spec;
}

}  // namespace natsl::model_adapters
