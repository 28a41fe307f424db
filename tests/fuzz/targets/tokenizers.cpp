// Tokenizers: what is read of one, and texts through it.
#include "model_adapters/tokenizer.h"
#include "model_adapters/tokenizers/config.h"
#include "model_adapters/tokenizers/json_tokenizer.h"
#include "model_adapters/tokenizers/sentencepiece_tokenizer.h"
#include "tests/fuzz/targets.h"
#include "tests/fuzz/targets/support.h"

namespace natsl::fuzz {
namespace {

using namespace model_adapters;

constexpr std::string_view kText =
    "Hello w\xC3\xB6rld  'll 12345\n\t\xE6\x97\xA5\xE6\x9C\xAC <s>ab ba.";
constexpr size_t kMostText = 4096;

void Use(const Tokenizer& tokenizer, std::string_view text) {
  for (const bool special : {false, true}) {
    Refusable([&] {
      const std::vector<TokenId> ids = tokenizer.Encode(text.substr(0, kMostText), special);
      for (const TokenId id : ids) {
        if (id < 0 || id >= tokenizer.vocabulary_size()) __builtin_trap();
      }
      tokenizer.Decode(ids, special);
    });
  }
  const std::vector<TokenId> first = {0, 1, 2, 3};
  Refusable([&] { tokenizer.Decode(first, true); });
  const std::vector<TokenId> beyond = {static_cast<TokenId>(tokenizer.vocabulary_size()), -1};
  Refusable([&] { tokenizer.Decode(beyond, true); });
}

}  // namespace

void FuzzTokenizerJson(std::string_view input) {
  const std::vector<std::string_view> parts = Parts(input, 2);
  Refusable([&] {
    const auto tokenizer = tokenizers::OpenJsonTokenizer(parts[0], "tokenizer.json", {});
    Use(*tokenizer, kText);
    Use(*tokenizer, parts[1]);
  });
}

void FuzzTokenizerConfig(std::string_view input) {
  const std::vector<std::string_view> parts = Parts(input, 3);
  const auto folder = ScratchFile("tokenizer/tokenizer_config.json", parts[0]).parent_path();
  const auto put = [](const std::string& name, std::string_view bytes) {
    const std::filesystem::path file = ScratchFile("tokenizer/" + name, bytes);
    if (bytes.empty()) std::filesystem::remove(file);
  };
  put("special_tokens_map.json", parts[1]);
  put("config.json", parts[2]);
  // Small, with tokens that the seeds' settings name.
  put("tokenizer.json", R"({"version": "1.0",
      "added_tokens": [{"id": 5, "content": "<s>", "special": true, "single_word": false,
                        "lstrip": false, "rstrip": false, "normalized": false}],
      "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false},
      "decoder": {"type": "ByteLevel"},
      "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "</s>": 3, "<unk>": 4},
                "merges": ["a b"]}})");
  Refusable([&] { Use(*OpenTokenizer(folder), "ab<s>ba"); });
}

void FuzzSentencePiece(std::string_view input) {
  Refusable([&] { Use(*tokenizers::OpenSentencePiece(input, "tokenizer.model", {}), kText); });
}

}  // namespace natsl::fuzz
