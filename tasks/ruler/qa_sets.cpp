// Documents and questions of RULER's QA tasks.
#include "tasks/ruler/qa_sets.h"

#include <algorithm>

#include "core/cast.h"
#include "core/json.h"

namespace natsl::tasks::ruler {
namespace {

using core::JsonObject;

const core::Json& List(const JsonObject& object, std::string_view key) {
  const core::Json& value = object.At(key);
  if (!value.is_array()) throw object.Wrong(key, "a list");
  return value;
}

JsonObject Item(const core::Json& value, const JsonObject& parent, std::string_view key, size_t i) {
  return JsonObject(value, fmt::format("{}: \"{}\"[{}]", parent.where(), key, i), ErrorCode::kData);
}

/// Replaces document texts by indices into their sorted set.
class DocumentIndex {
 public:
  explicit DocumentIndex(std::vector<std::string> documents) : sorted_(std::move(documents)) {
    std::sort(sorted_.begin(), sorted_.end());
    sorted_.erase(std::unique(sorted_.begin(), sorted_.end()), sorted_.end());
  }
  int64_t Of(const std::string& document) const {
    return std::lower_bound(sorted_.begin(), sorted_.end(), document) - sorted_.begin();
  }
  std::vector<std::string> Take() { return std::move(sorted_); }

 private:
  std::vector<std::string> sorted_;
};

}  // namespace

QaSet LoadSquadSet(const DataSource& data) {
  const RecordSet file = data.Read(data.Require("squad", {"squad/dev-v2.0.json"}));
  struct Question {
    std::string text;
    std::vector<std::string> answers;
    std::string paragraph;
    std::vector<std::string> others;
  };
  std::vector<Question> questions;
  std::vector<std::string> documents;
  const JsonObject root(*file.records.at(0).value, file.records.at(0).where, ErrorCode::kData);
  const core::Json& articles = List(root, "data");
  for (size_t a = 0; a < articles.size(); ++a) {
    const JsonObject article = Item(articles[a], root, "data", a);
    const core::Json& paragraphs = List(article, "paragraphs");
    std::vector<std::string> contexts;
    for (size_t p = 0; p < paragraphs.size(); ++p) {
      contexts.push_back(Item(paragraphs[p], article, "paragraphs", p).String("context"));
    }
    documents.insert(documents.end(), contexts.begin(), contexts.end());
    for (size_t p = 0; p < paragraphs.size(); ++p) {
      const JsonObject paragraph = Item(paragraphs[p], article, "paragraphs", p);
      const core::Json& qas = List(paragraph, "qas");
      for (size_t q = 0; q < qas.size(); ++q) {
        const JsonObject qa = Item(qas[q], paragraph, "qas", q);
        if (qa.Has("is_impossible") && qa.Bool("is_impossible")) continue;
        Question question{qa.String("question"), {}, contexts[p], {}};
        const core::Json& answers = List(qa, "answers");
        for (size_t i = 0; i < answers.size(); ++i) {
          question.answers.push_back(Item(answers[i], qa, "answers", i).String("text"));
        }
        if (question.answers.empty()) throw qa.Wrong("answers", "at least one answer");
        for (size_t other = 0; other < contexts.size(); ++other) {
          if (other != p) question.others.push_back(contexts[other]);
        }
        questions.push_back(std::move(question));
      }
    }
  }
  DocumentIndex index(std::move(documents));
  QaSet set;
  for (Question& question : questions) {
    QaQuestion out{std::move(question.text), std::move(question.answers), {}, {}};
    out.gold = {index.Of(question.paragraph)};
    for (const std::string& other : question.others) out.more.push_back(index.Of(other));
    set.questions.push_back(std::move(out));
  }
  set.documents = index.Take();
  if (set.questions.empty()) throw DataError("{}: no answerable question", root.where());
  return set;
}

QaSet LoadHotpotSet(const DataSource& data) {
  const RecordSet file = data.Read(data.Require(
      "hotpotqa", {"hotpotqa/hotpot_dev_distractor_v1.json",
                   "hotpotqa/hotpot_dev_distractor_v1.jsonl", "hotpotqa/hotpotqa_validate.jsonl"}));
  struct Question {
    std::string text, answer;
    std::vector<std::string> paragraphs;
  };
  std::vector<Question> questions;
  std::vector<std::string> documents;
  for (const Record& record : file.records) {
    const JsonObject object(*record.value, record.where, ErrorCode::kData);
    Question question{object.String("question"), object.String("answer"), {}};
    for (const core::Json& paragraph : List(object, "context")) {
      const bool pair = paragraph.is_array() && paragraph.size() == 2 && paragraph[0].is_string() &&
                        paragraph[1].is_array();
      if (!pair) throw object.Wrong("context", "a list of [title, [sentence, ...]]");
      std::string text = paragraph[0].get<std::string>() + "\n";
      for (const core::Json& sentence : paragraph[1]) {
        if (!sentence.is_string()) throw object.Wrong("context", "sentences as strings");
        text += sentence.get_ref<const std::string&>();
      }
      question.paragraphs.push_back(std::move(text));
    }
    documents.insert(documents.end(), question.paragraphs.begin(), question.paragraphs.end());
    questions.push_back(std::move(question));
  }
  DocumentIndex index(std::move(documents));
  QaSet set;
  for (Question& question : questions) {
    QaQuestion out{std::move(question.text), {std::move(question.answer)}, {}, {}};
    for (const std::string& paragraph : question.paragraphs)
      out.gold.push_back(index.Of(paragraph));
    set.questions.push_back(std::move(out));
  }
  set.documents = index.Take();
  return set;
}

}  // namespace natsl::tasks::ruler
