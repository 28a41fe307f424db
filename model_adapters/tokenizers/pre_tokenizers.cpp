// The pre-tokenizers.
#include "model_adapters/tokenizers/pre_tokenizers.h"

#include <functional>

#include "core/json.h"
#include "core/utf8.h"
#include "model_adapters/tokenizers/byte_alphabet.h"
#include "model_adapters/tokenizers/components.h"
#include "model_adapters/tokenizers/metaspace.h"
#include "model_adapters/tokenizers/splitting.h"
#include "model_adapters/tokenizers/unicode.h"

namespace natsl::model_adapters::tokenizers {
namespace {

using core::Json;
using core::JsonObject;

class ByteLevel : public PreTokenizer {
 public:
  explicit ByteLevel(const JsonObject& object)
      : add_prefix_space_(OptionalBool(object, "add_prefix_space", true)),
        use_regex_(OptionalBool(object, "use_regex", true)) {}

  void Split(const Piece& piece, std::vector<Piece>& out, Arena& arena) const override {
    Piece whole = piece;
    if (add_prefix_space_ && !whole.text.starts_with(' ')) {
      whole.text = arena.emplace_back(" " + std::string(whole.text));
    }
    if (!use_regex_) {
      Emit(whole, out, arena);
      return;
    }
    for (size_t start = 0; start < whole.text.size();) {
      const size_t end = kGpt2Pattern.MatchEnd(whole.text, start);
      Emit({whole.text.substr(start, end - start), whole.at_start && start == 0}, out, arena);
      start = end;
    }
  }
  bool MapsBytes() const override { return !raw_; }
  void LeaveBytesRaw() override { raw_ = true; }

 private:
  void Emit(const Piece& piece, std::vector<Piece>& out, Arena& arena) const {
    out.push_back(piece);
    if (!raw_) out.back().text = arena.emplace_back(ToByteAlphabet(piece.text));
  }

  bool add_prefix_space_;
  bool use_regex_;
  bool raw_ = false;
};

class SplitAtPattern : public PreTokenizer {
 public:
  explicit SplitAtPattern(const JsonObject& object)
      : pattern_(MakePattern(object.At("pattern"), object.where() + ".pattern")),
        behavior_(BehaviorField(object, "behavior")),
        invert_(OptionalBool(object, "invert", false)) {}
  SplitAtPattern(std::unique_ptr<Pattern> pattern, Behavior behavior, bool invert)
      : pattern_(std::move(pattern)), behavior_(behavior), invert_(invert) {}

  void Split(const Piece& piece, std::vector<Piece>& out, Arena&) const override {
    thread_local std::vector<Match> matches;
    pattern_->Find(piece.text, matches);
    CutAtMatches(piece, matches, behavior_, invert_, out);
  }

 private:
  std::unique_ptr<Pattern> pattern_;
  Behavior behavior_;
  bool invert_;
};

/// Cuts at single characters of a kind.
class SplitAtCharacters : public PreTokenizer {
 public:
  SplitAtCharacters(std::function<bool(char32_t)> is_delimiter, Behavior behavior)
      : is_delimiter_(std::move(is_delimiter)), behavior_(behavior) {}

  void Split(const Piece& piece, std::vector<Piece>& out, Arena&) const override {
    thread_local std::vector<Match> matches;
    matches.clear();
    for (size_t i = 0; i < piece.text.size();) {
      const size_t begin = i;
      if (is_delimiter_(DecodeNext(piece.text, i))) matches.push_back({begin, i});
    }
    CutAtMatches(piece, matches, behavior_, false, out);
  }

 private:
  std::function<bool(char32_t)> is_delimiter_;
  Behavior behavior_;
};

/// Words (\w+) and runs of what is neither word nor white space.
class Whitespace : public PreTokenizer {
 public:
  void Split(const Piece& piece, std::vector<Piece>& out, Arena&) const override {
    enum class Kind { kSpace, kWord, kOther };
    const auto kind_of = [](char32_t c) {
      return IsWord(c) ? Kind::kWord : IsWhiteSpace(c) ? Kind::kSpace : Kind::kOther;
    };
    const std::string_view text = piece.text;
    for (size_t begin = 0; begin < text.size();) {
      size_t end = begin;
      const Kind kind = kind_of(DecodeNext(text, end));
      while (end < text.size()) {
        size_t next = end;
        if (kind_of(DecodeNext(text, next)) != kind) break;
        end = next;
      }
      if (kind != Kind::kSpace) {
        out.push_back({text.substr(begin, end - begin), piece.at_start && begin == 0});
      }
      begin = end;
    }
  }
};

class MetaspaceSplit : public PreTokenizer {
 public:
  explicit MetaspaceSplit(const JsonObject& object) : metaspace_(ReadMetaspace(object)) {}

  void Split(const Piece& piece, std::vector<Piece>& out, Arena& arena) const override {
    const std::string& mark = metaspace_.replacement;
    std::string marked;
    marked.reserve(piece.text.size() + 8);
    const bool begins_marked = piece.text.starts_with(' ') || piece.text.starts_with(mark);
    const bool prepends = metaspace_.prepend == Metaspace::Prepend::kAlways ||
                          (metaspace_.prepend == Metaspace::Prepend::kFirst && piece.at_start);
    if (prepends && !begins_marked) marked += mark;
    for (const char c : piece.text) {
      if (c == ' ') {
        marked += mark;
      } else {
        marked += c;
      }
    }
    const std::string_view text = arena.emplace_back(std::move(marked));
    size_t begin = 0;
    while (metaspace_.split && begin < text.size()) {
      const size_t next = text.find(mark, begin + 1);
      if (next == std::string_view::npos) break;
      out.push_back({text.substr(begin, next - begin), piece.at_start && begin == 0});
      begin = next;
    }
    out.push_back({text.substr(begin), piece.at_start && begin == 0});
  }

 private:
  Metaspace metaspace_;
};

class FixedLength : public PreTokenizer {
 public:
  explicit FixedLength(const JsonObject& object)
      : length_(object.Has("length") ? object.Int("length") : 5) {
    if (length_ < 1) throw object.Wrong("length", "at least 1");
  }

  void Split(const Piece& piece, std::vector<Piece>& out, Arena&) const override {
    for (size_t begin = 0; begin < piece.text.size();) {
      size_t end = begin;
      for (int64_t i = 0; i < length_ && end < piece.text.size(); ++i) DecodeNext(piece.text, end);
      out.push_back({piece.text.substr(begin, end - begin), piece.at_start && begin == 0});
      begin = end;
    }
  }

 private:
  int64_t length_;
};

class PreTokenizerSequence : public PreTokenizer {
 public:
  explicit PreTokenizerSequence(const JsonObject& object) {
    ForEachComponent(object, "pretokenizers", [&](const Json& item, const std::string& where) {
      if (auto step = MakePreTokenizer(item, where)) steps_.push_back(std::move(step));
    });
  }
  explicit PreTokenizerSequence(std::vector<std::unique_ptr<PreTokenizer>> steps)
      : steps_(std::move(steps)) {}

  void Split(const Piece& piece, std::vector<Piece>& out, Arena& arena) const override {
    std::vector<Piece> pieces{piece}, next;
    for (const auto& step : steps_) {
      next.clear();
      for (const Piece& part : pieces) step->Split(part, next, arena);
      pieces.swap(next);
    }
    out.insert(out.end(), pieces.begin(), pieces.end());
  }
  bool MapsBytes() const override {
    if (steps_.empty() || !steps_.back()->MapsBytes()) return false;
    for (size_t i = 0; i + 1 < steps_.size(); ++i) {
      if (steps_[i]->MapsBytes()) return false;  // bytes of the alphabet would be mapped again
    }
    return true;
  }
  void LeaveBytesRaw() override { steps_.back()->LeaveBytesRaw(); }

 private:
  std::vector<std::unique_ptr<PreTokenizer>> steps_;
};

bool IsNumeric(char32_t c) { return ClassOf(c) == CharClass::kNumber; }

std::unique_ptr<PreTokenizer> AtCharacters(std::function<bool(char32_t)> is_delimiter,
                                           Behavior behavior) {
  return std::make_unique<SplitAtCharacters>(std::move(is_delimiter), behavior);
}

}  // namespace

std::unique_ptr<PreTokenizer> MakePreTokenizer(const Json& json, const std::string& where) {
  if (json.is_null()) return nullptr;
  const JsonObject object(json, where, ErrorCode::kModel);
  const std::string type = object.String("type");
  if (type == "Sequence") return std::make_unique<PreTokenizerSequence>(object);
  if (type == "ByteLevel") return std::make_unique<ByteLevel>(object);
  if (type == "Split") return std::make_unique<SplitAtPattern>(object);
  if (type == "Metaspace") return std::make_unique<MetaspaceSplit>(object);
  if (type == "Whitespace") return std::make_unique<Whitespace>();
  if (type == "FixedLength") return std::make_unique<FixedLength>(object);
  if (type == "WhitespaceSplit") return AtCharacters(IsWhiteSpace, Behavior::kRemoved);
  if (type == "Digits") {
    const bool individual = OptionalBool(object, "individual_digits", false);
    return AtCharacters(IsNumeric, individual ? Behavior::kIsolated : Behavior::kContiguous);
  }
  if (type == "Punctuation") {
    return AtCharacters(IsPunctuation, object.Has("behavior") ? BehaviorField(object, "behavior")
                                                              : Behavior::kIsolated);
  }
  if (type == "CharDelimiterSplit") {
    const char32_t delimiter = CharacterField(object, "delimiter");
    return AtCharacters([delimiter](char32_t c) { return c == delimiter; }, Behavior::kRemoved);
  }
  if (type == "BertPreTokenizer") {
    std::vector<std::unique_ptr<PreTokenizer>> steps;
    steps.push_back(AtCharacters(IsWhiteSpace, Behavior::kRemoved));
    steps.push_back(AtCharacters(IsPunctuation, Behavior::kIsolated));
    return std::make_unique<PreTokenizerSequence>(std::move(steps));
  }
  throw Unsupported("pre-tokenizer", type, where);
}

}  // namespace natsl::model_adapters::tokenizers
