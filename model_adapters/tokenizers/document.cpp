// tokenizer.json in one pass. A JSON value of a vocabulary of 100,000 tokens costs seconds, because
// ordered objects look for equal keys one by one; so a SAX handler routes the two big parts past
// it.
#include "model_adapters/tokenizers/document.h"

#include <optional>

#include "core/cast.h"
#include "core/json.h"
#include "core/limits.h"
#include "model_adapters/tokenizers/unicode.h"

namespace natsl::model_adapters::tokenizers {
namespace {

using core::Json;

constexpr auto kMaxDepth = static_cast<size_t>(limits::kMaxTokenizerDepth);
constexpr auto kMaxKeys = static_cast<size_t>(limits::kMaxTokenizerKeys);

class Handler : public nlohmann::json_sax<Json> {
 public:
  Handler(Document& document, std::string_view where) : document_(document), where_(where) {
    // Sizes of the largest vocabularies in use: growing step by step would rehash them often.
    document_.vocabulary.Reserve(size_t{1} << 15, size_t{1} << 18);
  }

  bool null() override { return Scalar(Json(nullptr)); }
  bool boolean(bool value) override { return Scalar(Json(value)); }
  bool number_integer(number_integer_t value) override {
    if (part_ == Part::kVocabulary) return AddId(value);
    if (part_ == Part::kScore) return SetScore(static_cast<double>(value));
    return Scalar(Json(value));
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (part_ == Part::kVocabulary) {
      return AddId(value > static_cast<uint64_t>(kMaxVocabulary) ? kMaxVocabulary
                                                                 : static_cast<int64_t>(value));
    }
    if (part_ == Part::kScore) return SetScore(static_cast<double>(value));
    return Scalar(Json(value));
  }
  bool number_float(number_float_t value, const string_t&) override {
    if (part_ == Part::kScore) return SetScore(value);
    return Scalar(Json(value));
  }
  bool string(string_t& value) override {
    if (part_ == Part::kMerges) return AddMergeLine(value);
    if (part_ == Part::kMerge || part_ == Part::kScore) return AddOfPair(value);
    return Scalar(Json(std::move(value)));
  }
  bool binary(binary_t&) override { throw Error("binary data"); }

  bool start_object(size_t) override {
    if (AtModel("vocab")) return Begin(Part::kVocabulary, VocabularyLayout::kIds);
    Open(Json::object());
    return true;
  }
  bool key(string_t& value) override {
    if (part_ != Part::kRest) {
      key_ = std::move(value);
      return true;
    }
    Json& object = *stack_.back();
    if (object.contains(value)) throw Error(fmt::format("the key \"{}\" is given twice", value));
    if (object.size() >= kMaxKeys) {
      throw Error(fmt::format("an object has more than {} keys", kMaxKeys));
    }
    if (stack_.size() == 1) in_model_ = value == "model";
    key_ = std::move(value);
    return true;
  }
  bool end_object() override {
    if (part_ == Part::kVocabulary) return End();
    stack_.pop_back();
    return true;
  }

  bool start_array(size_t) override {
    if (AtModel("vocab")) return Begin(Part::kScores, VocabularyLayout::kScores);
    if (AtModel("merges")) {
      document_.has_merges = true;
      return Begin(Part::kMerges, document_.layout);
    }
    if (part_ == Part::kScores) {
      part_ = Part::kScore;
      pair_.clear();
      score_.reset();
      return true;
    }
    if (part_ == Part::kMerges) {
      part_ = Part::kMerge;
      pair_.clear();
      return true;
    }
    Open(Json::array());
    return true;
  }
  bool end_array() override {
    if (part_ == Part::kScore) return EndScore();
    if (part_ == Part::kMerge) return EndMerge();
    if (part_ == Part::kScores || part_ == Part::kMerges) return End();
    stack_.pop_back();
    return true;
  }

  bool parse_error(size_t position, const std::string&,
                   const nlohmann::detail::exception& error) override {
    std::string_view reason = error.what();
    if (const size_t end = reason.find("] "); end != std::string_view::npos) {
      reason.remove_prefix(end + 2);
    }
    throw Error(fmt::format("not valid JSON at byte {}: {}", position, reason));
  }

 private:
  enum class Part { kRest, kVocabulary, kScores, kScore, kMerges, kMerge };

  natsl::Error Error(std::string_view what) const { return ModelError("{}: {}", where_, what); }

  bool AtModel(std::string_view key) const {
    return part_ == Part::kRest && in_model_ && stack_.size() == 2 && key_ == key &&
           stack_.back()->is_object();
  }

  bool Begin(Part part, VocabularyLayout layout) {
    (*stack_.back())[key_] = nullptr;
    part_ = part;
    document_.layout = layout;
    return true;
  }
  bool End() {
    part_ = Part::kRest;
    return true;
  }

  bool AddId(int64_t id) {
    InContext(fmt::format("{}: model.vocab", where_), [&] { document_.vocabulary.Add(key_, id); });
    return true;
  }

  bool AddOfPair(std::string& value) {
    const size_t limit = part_ == Part::kScore ? 1 : 2;
    if (pair_.size() >= limit) throw Unexpected(Json(value));
    pair_.push_back(std::move(value));
    return true;
  }
  bool SetScore(double value) {
    if (pair_.empty() || score_) throw Unexpected(Json(value));
    score_ = value;
    return true;
  }
  bool EndScore() {
    const int64_t id = core::Size(document_.scores);
    if (!score_) {
      throw Error(fmt::format("model.vocab[{}] is not a pair of a token and its score", id));
    }
    InContext(fmt::format("{}: model.vocab", where_),
              [&] { document_.vocabulary.Add(pair_[0], id); });
    document_.scores.push_back(*score_);
    part_ = Part::kScores;
    return true;
  }

  bool AddMergeLine(const std::string& line) {
    if (line.starts_with("#version")) return true;
    const size_t space = line.find(' ');
    if (space == std::string::npos || line.find(' ', space + 1) != std::string::npos) {
      throw Error(
          fmt::format("model.merges[{}] is \"{}\", expected two tokens and one space "
                      "between them",
                      document_.merges.size(), line));
    }
    const std::string_view view = line;
    document_.merges.Add(view.substr(0, space), view.substr(space + 1));
    return true;
  }
  bool EndMerge() {
    if (pair_.size() != 2) {
      throw Error(fmt::format("model.merges[{}] has {} tokens, expected two",
                              document_.merges.size(), pair_.size()));
    }
    document_.merges.Add(pair_[0], pair_[1]);
    part_ = Part::kMerges;
    return true;
  }

  natsl::Error Unexpected(const Json& value) const {
    const std::string found = core::Describe(value);
    if (part_ == Part::kVocabulary) {
      return Error(fmt::format("model.vocab: \"{}\" is {}, expected an id", key_, found));
    }
    if (part_ == Part::kScores || part_ == Part::kScore) {
      return Error(fmt::format("model.vocab[{}] is or holds {}, expected [token, score]",
                               document_.scores.size(), found));
    }
    return Error(fmt::format("model.merges[{}] is or holds {}, expected two tokens",
                             document_.merges.size(), found));
  }

  bool Scalar(Json value) {
    if (part_ != Part::kRest) throw Unexpected(value);
    Put(std::move(value));
    return true;
  }
  void Open(Json value) {
    if (part_ != Part::kRest) throw Unexpected(value);
    if (stack_.size() >= kMaxDepth) {
      throw Error(fmt::format("nested deeper than {} levels", kMaxDepth));
    }
    stack_.push_back(Put(std::move(value)));
  }
  Json* Put(Json value) {
    if (stack_.empty()) {
      *document_.rest = std::move(value);
      return document_.rest.get();
    }
    Json& parent = *stack_.back();
    if (parent.is_array()) {
      parent.push_back(std::move(value));
      return &parent.back();
    }
    // The key was seen to be new: no second search for it.
    return &(parent.get_ref<Json::object_t&>()[key_] = std::move(value));
  }

  Document& document_;
  std::string where_;
  std::vector<Json*> stack_;
  std::string key_;
  bool in_model_ = false;
  Part part_ = Part::kRest;
  std::vector<std::string> pair_;
  std::optional<double> score_;
};

}  // namespace

void MergeList::Add(std::string_view left, std::string_view right) {
  spans_.push_back(
      {bytes_.size(), static_cast<uint32_t>(left.size()), static_cast<uint32_t>(right.size())});
  bytes_ += left;
  bytes_ += right;
}

std::string_view MergeList::left(size_t rank) const {
  return std::string_view(bytes_).substr(spans_[rank].offset, spans_[rank].left);
}

std::string_view MergeList::right(size_t rank) const {
  return std::string_view(bytes_).substr(spans_[rank].offset + spans_[rank].left,
                                         spans_[rank].right);
}

Document::Document() : rest(std::make_unique<Json>()) {}
Document::~Document() = default;
Document::Document(Document&&) noexcept = default;

Document ReadDocument(std::string_view text, std::string_view where) {
  const size_t invalid = FindInvalid(text);
  if (invalid != std::string_view::npos) {
    throw ModelError("{}: not valid UTF-8 at byte {}", where, invalid);
  }
  // The library takes a NUL for the end of the text, and would drop what follows.
  if (const size_t nul = text.find('\0'); nul != std::string_view::npos) {
    throw ModelError("{}: not valid JSON: a NUL at byte {}", where, nul);
  }
  Document document;
  Handler handler(document, where);
  Json::sax_parse(text.begin(), text.end(), &handler);
  if (!document.rest->is_object()) {
    throw ModelError("{}: {}, expected an object", where, core::Describe(*document.rest));
  }
  return document;
}

}  // namespace natsl::model_adapters::tokenizers
