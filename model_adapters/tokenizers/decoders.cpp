// The decoders.
#include "model_adapters/tokenizers/decoders.h"

#include <functional>
#include <utility>

#include "core/json.h"
#include "core/utf8.h"
#include "model_adapters/tokenizers/byte_alphabet.h"
#include "model_adapters/tokenizers/components.h"
#include "model_adapters/tokenizers/metaspace.h"
#include "model_adapters/tokenizers/pattern.h"
#include "model_adapters/tokenizers/unicode.h"

namespace natsl::model_adapters::tokenizers {
namespace {

using core::Json;
using core::JsonObject;
using Tokens = std::vector<std::string>;

/// A decoder that is one function of the tokens.
class FunctionDecoder : public Decoder {
 public:
  explicit FunctionDecoder(std::function<void(Tokens&)> function)
      : function_(std::move(function)) {}
  void Decode(Tokens& tokens) const override { function_(tokens); }

 private:
  std::function<void(Tokens&)> function_;
};

std::unique_ptr<Decoder> From(std::function<void(Tokens&)> function) {
  return std::make_unique<FunctionDecoder>(std::move(function));
}

std::string Replaced(std::string text, std::string_view from, std::string_view to) {
  if (from.empty()) return text;
  size_t position = 0;
  while ((position = text.find(from, position)) != std::string::npos) {
    text.replace(position, from.size(), to);
    position += to.size();
  }
  return text;
}

std::string Joined(const Tokens& tokens) {
  std::string all;
  for (const std::string& token : tokens) all += token;
  return all;
}

void DecodeByteLevel(Tokens& tokens) {
  std::string bytes;
  for (const std::string& token : tokens) {
    if (!AppendFromByteAlphabet(token, bytes)) bytes += token;
  }
  // A token may end within a character: what the bytes don't complete becomes U+FFFD.
  if (FindInvalid(bytes) != std::string::npos) bytes = core::EncodeUtf8(core::DecodeUtf8(bytes));
  tokens = {std::move(bytes)};
}

/// The byte of a token "<0x..>", or -1.
int ByteOfToken(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return -1;
  const auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return -1;
  };
  const int high = digit(token[3]), low = digit(token[4]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

void DecodeByteFallback(Tokens& tokens) {
  Tokens decoded;
  std::string bytes;
  const auto flush = [&] {
    if (bytes.empty()) return;
    if (core::IsValidUtf8(bytes)) {
      decoded.push_back(bytes);
    } else {
      decoded.insert(decoded.end(), bytes.size(), "\uFFFD");
    }
    bytes.clear();
  };
  for (std::string& token : tokens) {
    const int byte = ByteOfToken(token);
    if (byte >= 0) {
      bytes += static_cast<char>(byte);
    } else {
      flush();
      decoded.push_back(std::move(token));
    }
  }
  flush();
  tokens = std::move(decoded);
}

std::unique_ptr<Decoder> MakeStrip(const JsonObject& object) {
  CharacterField(object, "content");
  const int64_t start = object.Int("start"), stop = object.Int("stop");
  if (start < 0) throw object.Wrong("start", "a count");
  if (stop < 0) throw object.Wrong("stop", "a count");
  return From([content = object.String("content"), start, stop](Tokens& tokens) {
    for (std::string& token : tokens) {
      std::string_view rest = token;
      for (int64_t i = 0; i < start && rest.starts_with(content); ++i) {
        rest.remove_prefix(content.size());
      }
      for (int64_t i = 0; i < stop && rest.ends_with(content); ++i) {
        rest.remove_suffix(content.size());
      }
      token = std::string(rest);
    }
  });
}

std::unique_ptr<Decoder> MakeMetaspaceDecoder(const JsonObject& object) {
  const Metaspace metaspace = ReadMetaspace(object);
  return From([metaspace](Tokens& tokens) {
    for (size_t i = 0; i < tokens.size(); ++i) {
      const bool drops = i == 0 && metaspace.prepend != Metaspace::Prepend::kNever;
      tokens[i] = Replaced(std::move(tokens[i]), metaspace.replacement, drops ? "" : " ");
    }
  });
}

/// The clean-up of the WordPiece decoder; transformers' has no rule for "do not".
std::string CleanUpTokens(std::string text) {
  constexpr std::pair<std::string_view, std::string_view> kRules[] = {
      {" .", "."},   {" ?", "?"},     {" !", "!"},    {" ,", ","},
      {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},  {" do not", " don't"},
      {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& [from, to] : kRules) text = Replaced(std::move(text), from, to);
  return text;
}

std::unique_ptr<Decoder> MakeWordPiece(const JsonObject& object) {
  const std::string prefix = OptionalString(object, "prefix", "##");
  const bool cleanup = OptionalBool(object, "cleanup", true);
  return From([prefix, cleanup](Tokens& tokens) {
    for (size_t i = 0; i < tokens.size(); ++i) {
      std::string& token = tokens[i];
      if (i > 0) {
        if (token.starts_with(prefix)) {
          token.erase(0, prefix.size());
        } else {
          token.insert(0, " ");
        }
      }
      if (cleanup) token = CleanUpTokens(std::move(token));
    }
  });
}

std::unique_ptr<Decoder> MakeCtc(const JsonObject& object) {
  const std::string pad = OptionalString(object, "pad_token", "<pad>");
  const std::string delimiter = OptionalString(object, "word_delimiter_token", "|");
  const bool cleanup = OptionalBool(object, "cleanup", true);
  return From([=](Tokens& tokens) {
    Tokens kept;
    for (size_t i = 0; i < tokens.size(); ++i) {
      if (i > 0 && tokens[i] == tokens[i - 1]) continue;
      std::string token = Replaced(tokens[i], pad, "");
      if (cleanup) token = Replaced(CleanUpTokens(std::move(token)), delimiter, " ");
      if (!token.empty()) kept.push_back(std::move(token));
    }
    tokens = std::move(kept);
  });
}

std::unique_ptr<Decoder> MakeDecoderSequence(const JsonObject& object) {
  std::vector<std::shared_ptr<const Decoder>> steps;
  ForEachComponent(object, "decoders", [&](const Json& item, const std::string& where) {
    if (auto step = MakeDecoder(item, where)) steps.push_back(std::move(step));
  });
  return From([steps = std::move(steps)](Tokens& tokens) {
    for (const auto& step : steps) step->Decode(tokens);
  });
}

}  // namespace

std::unique_ptr<Decoder> MakeDecoder(const Json& json, const std::string& where) {
  if (json.is_null()) return nullptr;
  const JsonObject object(json, where, ErrorCode::kModel);
  const std::string type = object.String("type");
  if (type == "Sequence") return MakeDecoderSequence(object);
  if (type == "ByteLevel") return From(DecodeByteLevel);
  if (type == "ByteFallback") return From(DecodeByteFallback);
  if (type == "Fuse") return From([](Tokens& tokens) { tokens = {Joined(tokens)}; });
  if (type == "Strip") return MakeStrip(object);
  if (type == "Metaspace") return MakeMetaspaceDecoder(object);
  if (type == "WordPiece") return MakeWordPiece(object);
  if (type == "CTC") return MakeCtc(object);
  if (type == "BPEDecoder") {
    return From([suffix = OptionalString(object, "suffix", "</w>")](Tokens& tokens) {
      for (size_t i = 0; i < tokens.size(); ++i) {
        tokens[i] = Replaced(std::move(tokens[i]), suffix, i + 1 == tokens.size() ? "" : " ");
      }
    });
  }
  if (type == "Replace") {
    std::shared_ptr<const Pattern> pattern =
        MakePattern(object.At("pattern"), object.where() + ".pattern");
    return From([pattern, content = object.String("content")](Tokens& tokens) {
      for (std::string& token : tokens) token = ReplaceAll(*pattern, token, content);
    });
  }
  throw Unsupported("decoder", type, where);
}

std::string CleanUpSpaces(std::string text) {
  constexpr std::pair<std::string_view, std::string_view> kRules[] = {
      {" .", "."},     {" ?", "?"},   {" !", "!"},   {" ,", ","},     {" ' ", "'"},
      {" n't", "n't"}, {" 'm", "'m"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& [from, to] : kRules) text = Replaced(std::move(text), from, to);
  return text;
}

}  // namespace natsl::model_adapters::tokenizers
