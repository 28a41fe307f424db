// The normalizers. Unicode forms are ICU's.
#include "model_adapters/tokenizers/normalizers.h"

#include <unicode/bytestream.h>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>

#include <functional>
#include <vector>

#include "core/json.h"
#include "core/utf8.h"
#include "model_adapters/tokenizers/byte_alphabet.h"
#include "model_adapters/tokenizers/charsmap.h"
#include "model_adapters/tokenizers/components.h"
#include "model_adapters/tokenizers/pattern.h"
#include "model_adapters/tokenizers/unicode.h"

namespace natsl::model_adapters::tokenizers {
namespace {

using core::Json;
using core::JsonObject;

/// A normalizer that is one function of the text.
class FunctionNormalizer : public Normalizer {
 public:
  explicit FunctionNormalizer(std::function<void(std::string&)> function)
      : function_(std::move(function)) {}
  void Normalize(std::string& text) const override { function_(text); }

 private:
  std::function<void(std::string&)> function_;
};

std::unique_ptr<Normalizer> From(std::function<void(std::string&)> function) {
  return std::make_unique<FunctionNormalizer>(std::move(function));
}

/// Replaces the text by what edit(code_point, out) appends for each of its code points.
template <typename Edit>
void EditCodePoints(std::string& text, Edit&& edit) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) edit(DecodeNext(text, i), out);
  text = std::move(out);
}

template <typename Drop>
void DropCodePoints(std::string& text, Drop&& drop) {
  EditCodePoints(text, [&](char32_t c, std::string& out) {
    if (!drop(c)) core::AppendUtf8(out, c);
  });
}

using Form = const icu::Normalizer2* (*)(UErrorCode&);

void ToForm(const icu::Normalizer2& form, std::string& text) {
  if (IsAscii(text)) return;
  UErrorCode status = U_ZERO_ERROR;
  std::string out;
  icu::StringByteSink<std::string> sink(&out);
  form.normalizeUTF8(0, icu::StringPiece(text.data(), static_cast<int32_t>(text.size())), sink,
                     nullptr, status);
  if (U_FAILURE(status)) throw InternalError("Unicode normalization: {}", u_errorName(status));
  text = std::move(out);
}

const icu::Normalizer2& GetForm(Form get) {
  UErrorCode status = U_ZERO_ERROR;
  const icu::Normalizer2* form = get(status);
  if (U_FAILURE(status)) throw InternalError("Unicode normalization: {}", u_errorName(status));
  return *form;
}

std::unique_ptr<Normalizer> FormNormalizer(Form get) {
  const icu::Normalizer2& form = GetForm(get);
  return From([&form](std::string& text) { ToForm(form, text); });
}

/// Letter by letter, as the reference does: no final sigma.
void Lowercase(std::string& text) {
  EditCodePoints(text, [](char32_t c, std::string& out) {
    constexpr char32_t kDottedCapitalI =
        0x130;  // the one letter whose lower case is two characters
    if (c == kDottedCapitalI) {
      out += "i\u0307";
    } else {
      core::AppendUtf8(out, static_cast<char32_t>(u_tolower(static_cast<UChar32>(c))));
    }
  });
}

void Strip(std::string& text, bool left, bool right) {
  size_t begin = 0, end = text.size();
  while (left && begin < end) {
    size_t next = begin;
    if (!IsWhiteSpace(DecodeNext(text, next))) break;
    begin = next;
  }
  while (right && end > begin) {
    const size_t start = PreviousStart(text, end);
    size_t next = start;
    if (!IsWhiteSpace(DecodeNext(text, next))) break;
    end = start;
  }
  text = text.substr(begin, end - begin);
}

/// The clean-up of the Neural Machine Translation rules of sentencepiece.
void Nmt(std::string& text) {
  EditCodePoints(text, [](char32_t c, std::string& out) {
    const bool dropped = (c >= 0x1 && c <= 0x8) || c == 0xB || (c >= 0xE && c <= 0x1F) ||
                         c == 0x7F || c == 0x8F || c == 0x9F;
    if (dropped) return;
    const bool space = c == 0x9 || c == 0xA || c == 0xC || c == 0xD || c == 0x1680 ||
                       (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 || c == 0x2581 ||
                       c == 0xFEFF || c == 0xFFFD;
    core::AppendUtf8(out, space ? U' ' : c);
  });
}

bool IsChinese(char32_t c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) ||
         (c >= 0x20000 && c <= 0x2A6DF) || (c >= 0x2A700 && c <= 0x2B73F) ||
         (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

std::unique_ptr<Normalizer> MakeBert(const JsonObject& object) {
  const bool clean = OptionalBool(object, "clean_text", true);
  const bool chinese = OptionalBool(object, "handle_chinese_chars", true);
  const bool lowercase = OptionalBool(object, "lowercase", true);
  const bool accents = OptionalBool(object, "strip_accents", lowercase);
  const icu::Normalizer2& decomposed = GetForm(icu::Normalizer2::getNFDInstance);
  return From([=, &decomposed](std::string& text) {
    if (clean) {
      EditCodePoints(text, [](char32_t c, std::string& out) {
        if (c == 0 || c == 0xFFFD || IsControl(c)) return;
        core::AppendUtf8(out, IsWhiteSpace(c) ? U' ' : c);
      });
    }
    if (chinese) {
      EditCodePoints(text, [](char32_t c, std::string& out) {
        const bool spaced = IsChinese(c);
        if (spaced) out += ' ';
        core::AppendUtf8(out, c);
        if (spaced) out += ' ';
      });
    }
    if (accents) {
      ToForm(decomposed, text);
      DropCodePoints(text, IsNonSpacingMark);
    }
    if (lowercase) Lowercase(text);
  });
}

std::unique_ptr<Normalizer> MakeNormalizerSequence(const JsonObject& object) {
  std::vector<std::shared_ptr<const Normalizer>> steps;
  ForEachComponent(object, "normalizers", [&](const Json& item, const std::string& where) {
    if (auto step = MakeNormalizer(item, where)) steps.push_back(std::move(step));
  });
  return From([steps = std::move(steps)](std::string& text) {
    for (const auto& step : steps) step->Normalize(text);
  });
}

std::unique_ptr<Normalizer> MakePrecompiled(const JsonObject& object) {
  if (!object.Has("precompiled_charsmap"))
    return nullptr;  // an empty map, as some converters write
  const auto bytes = DecodeBase64(object.String("precompiled_charsmap"));
  if (!bytes) throw object.Wrong("precompiled_charsmap", "base64");
  if (bytes->empty()) return nullptr;
  auto map = InContext(object.where(), [&] { return std::make_shared<const Charsmap>(*bytes); });
  return From([map = std::move(map)](std::string& text) { text = map->Apply(text); });
}

}  // namespace

std::unique_ptr<Normalizer> MakeNormalizer(const Json& json, const std::string& where) {
  if (json.is_null()) return nullptr;
  const JsonObject object(json, where, ErrorCode::kModel);
  const std::string type = object.String("type");
  if (type == "Sequence") return MakeNormalizerSequence(object);
  if (type == "NFC") return FormNormalizer(icu::Normalizer2::getNFCInstance);
  if (type == "NFD") return FormNormalizer(icu::Normalizer2::getNFDInstance);
  if (type == "NFKC") return FormNormalizer(icu::Normalizer2::getNFKCInstance);
  if (type == "NFKD") return FormNormalizer(icu::Normalizer2::getNFKDInstance);
  if (type == "Lowercase") return From(Lowercase);
  if (type == "Nmt") return From(Nmt);
  if (type == "BertNormalizer") return MakeBert(object);
  if (type == "Precompiled") return MakePrecompiled(object);
  if (type == "StripAccents") {
    return From([](std::string& text) { DropCodePoints(text, IsMark); });
  }
  if (type == "ByteLevel") {
    return From([](std::string& text) { text = ToByteAlphabet(text); });
  }
  if (type == "Strip") {
    const bool left = OptionalBool(object, "strip_left", true);
    const bool right = OptionalBool(object, "strip_right", true);
    return From([=](std::string& text) { Strip(text, left, right); });
  }
  if (type == "Prepend") {
    return From([prefix = object.String("prepend")](std::string& text) {
      if (!text.empty()) text.insert(0, prefix);
    });
  }
  if (type == "Replace") {
    std::shared_ptr<const Pattern> pattern =
        MakePattern(object.At("pattern"), object.where() + ".pattern");
    return From([pattern, content = object.String("content")](std::string& text) {
      text = ReplaceAll(*pattern, text, content);
    });
  }
  throw Unsupported("normalizer", type, where);
}

}  // namespace natsl::model_adapters::tokenizers
