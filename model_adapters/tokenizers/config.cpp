// The files beside a tokenizer.
#include "model_adapters/tokenizers/config.h"

#include <array>
#include <charconv>

#include "core/json.h"
#include "model_adapters/model_folder.h"
#include "model_adapters/tokenizers/components.h"

namespace natsl::model_adapters::tokenizers {
namespace {

using core::Json;
using core::JsonObject;
namespace fs = std::filesystem;

constexpr std::array<std::string_view, 4> kNames = {"bos_token", "eos_token", "unk_token",
                                                    "pad_token"};

/// Tokenizers without a limit say 1e30 or the like.
constexpr double kLargestRealLength = 1e9;

void ReadTokens(const JsonObject& object, TokenizerConfig& config) {
  for (const std::string_view name : kNames) {
    if (!object.json().contains(name) || config.tokens.contains(name)) continue;
    const Json& value = object.At(name);
    std::optional<std::string>& token = config.tokens[std::string(name)];
    if (value.is_null()) continue;
    if (value.is_string()) {
      token = value.get<std::string>();
    } else if (value.is_object()) {
      token = object.Object(name).String("content");
    } else {
      throw object.Wrong(name, "a token, an object with its content, or null");
    }
  }
}

std::optional<bool> MaybeBool(const JsonObject& object, std::string_view key) {
  if (!object.Has(key)) return std::nullopt;
  return object.Bool(key);
}

void ReadAdded(const JsonObject& object, TokenizerConfig& config) {
  if (!object.Has("added_tokens_decoder")) return;
  const JsonObject decoder = object.Object("added_tokens_decoder");
  for (const auto& [key, value] : decoder.json().items()) {
    AddedToken token = ReadAddedToken(value, fmt::format("{}.\"{}\"", decoder.where(), key));
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), token.id);
    if (error != std::errc() || end != key.data() + key.size() || token.id < 0 ||
        token.id >= kMaxVocabulary) {
      throw ModelError("{}: the key \"{}\" is not an id", decoder.where(), key);
    }
    config.added.push_back(std::move(token));
  }
  std::sort(config.added.begin(), config.added.end(),
            [](const AddedToken& a, const AddedToken& b) { return a.id < b.id; });
}

void ReadMain(const fs::path& path, TokenizerConfig& config) {
  const Json json = core::ReadJsonFile(path, ErrorCode::kModel, {.python_numbers = true});
  const JsonObject object(json, path.string(), ErrorCode::kModel);
  config.tokenizer_class = OptionalString(object, "tokenizer_class");
  constexpr std::string_view kFast = "Fast";
  if (config.tokenizer_class.ends_with(kFast)) {
    config.tokenizer_class.resize(config.tokenizer_class.size() - kFast.size());
  }
  config.add_bos = MaybeBool(object, "add_bos_token");
  config.add_eos = MaybeBool(object, "add_eos_token");
  ReadTokens(object, config);
  ReadAdded(object, config);
  if (object.Has("model_max_length")) {
    const double length = object.Double("model_max_length");
    if (!(length >= 1)) throw object.Wrong("model_max_length", "at least 1");
    if (length <= kLargestRealLength) config.max_length = object.Int("model_max_length");
  }
  config.clean_up_spaces = OptionalBool(object, "clean_up_tokenization_spaces", false);
  config.clean_up_spaces_of_bpe = OptionalBool(
      object, "clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output", false);
}

void ReadModelConfig(const fs::path& path, TokenizerConfig& config) {
  const Json json = core::ReadJsonFile(path, ErrorCode::kModel, {.python_numbers = true});
  const JsonObject object(json, path.string(), ErrorCode::kModel);
  for (const std::string_view name : {"bos_token", "eos_token", "pad_token"}) {
    const std::string key = fmt::format("{}_id", name);
    if (!object.Has(key)) continue;
    const Json& value = object.At(key);
    // Several EOS: the first is the tokenizer's.
    const Json& id = value.is_array() && !value.empty() ? value[0] : value;
    if (!id.is_number_integer()) throw object.Wrong(key, "an id or a list of ids");
    if (id >= 0) config.token_ids[std::string(name)] = id.get<int64_t>();
  }
}

/// What a class of the reference takes where no file names a token.
std::optional<std::string> CustomaryToken(std::string_view tokenizer_class, std::string_view name) {
  if (name == "pad_token") return std::nullopt;
  if (tokenizer_class == "LlamaTokenizer") {
    return name == "bos_token" ? "<s>" : name == "eos_token" ? "</s>" : "<unk>";
  }
  if (tokenizer_class == "GPT2Tokenizer" || tokenizer_class == "GPTNeoXTokenizer") {
    return "<|endoftext|>";
  }
  if (tokenizer_class == "Qwen2Tokenizer" && name != "bos_token") return "<|endoftext|>";
  if (tokenizer_class == "T5Tokenizer" && name != "bos_token") {
    return name == "eos_token" ? "</s>" : "<unk>";
  }
  return std::nullopt;
}

}  // namespace

TokenizerConfig ReadTokenizerConfig(const fs::path& folder) {
  TokenizerConfig config;
  const auto read = [&](const char* name, auto&& reader) {
    const fs::path path = folder / name;
    // What can't be looked at is read, so that the error says why.
    std::error_code error;
    if (fs::exists(path, error) || error) reader(FileInFolder(folder, name), config);
  };
  read("tokenizer_config.json", ReadMain);
  read("special_tokens_map.json", [](const fs::path& path, TokenizerConfig& into) {
    const Json json = core::ReadJsonFile(path, ErrorCode::kModel);
    ReadTokens(JsonObject(json, path.string(), ErrorCode::kModel), into);
  });
  read("config.json", ReadModelConfig);
  return config;
}

SpecialTokens ResolveSpecialTokens(
    const TokenizerConfig& config,
    const std::function<std::optional<TokenId>(std::string_view)>& id_of, int64_t vocabulary_size) {
  const auto resolve = [&](std::string_view name) -> std::optional<TokenId> {
    const auto named = config.tokens.find(name);
    if (named != config.tokens.end()) {
      if (!named->second || named->second->empty()) return std::nullopt;
      const std::optional<TokenId> id = id_of(*named->second);
      if (!id && (name == "bos_token" || name == "eos_token")) {
        throw ModelError(
            "{} is \"{}\" by tokenizer_config.json or special_tokens_map.json, and "
            "the tokenizer has no such token",
            name, *named->second);
      }
      return id;
    }
    if (const auto customary = CustomaryToken(config.tokenizer_class, name)) {
      if (const auto id = id_of(*customary)) return id;
    }
    const auto by_id = config.token_ids.find(name);
    if (by_id == config.token_ids.end()) return std::nullopt;
    if (by_id->second >= vocabulary_size) {
      throw ModelError("config.json: \"{}_id\" is {}, the tokenizer has ids below {}", name,
                       by_id->second, vocabulary_size);
    }
    return static_cast<TokenId>(by_id->second);
  };
  return {resolve("bos_token"), resolve("eos_token"), resolve("unk_token"), resolve("pad_token")};
}

}  // namespace natsl::model_adapters::tokenizers
