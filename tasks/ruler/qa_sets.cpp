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

/// Texts as indices into their sorted set.
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

/// An article of SQuAD: its paragraphs and its answerable questions, in file order.
struct Article {
  struct Question {
    std::string text;
    std::vector<std::string> answers;
    size_t paragraph = 0;
  };
  std::vector<std::string> paragraphs;
  std::vector<Question> questions;
};

/// The publisher's layout: {data: [{title, paragraphs: [{context, qas}]}]}.
std::vector<Article> PublishedArticles(const Record& record) {
  std::vector<Article> all;
  const JsonObject root(*record.value, record.where, ErrorCode::kData);
  const core::Json& articles = List(root, "data");
  for (size_t a = 0; a < articles.size(); ++a) {
    const JsonObject object = Item(articles[a], root, "data", a);
    const core::Json& paragraphs = List(object, "paragraphs");
    Article& article = all.emplace_back();
    for (size_t p = 0; p < paragraphs.size(); ++p) {
      const JsonObject paragraph = Item(paragraphs[p], object, "paragraphs", p);
      article.paragraphs.push_back(paragraph.String("context"));
      const core::Json& qas = List(paragraph, "qas");
      for (size_t q = 0; q < qas.size(); ++q) {
        const JsonObject qa = Item(qas[q], paragraph, "qas", q);
        if (qa.Has("is_impossible") && qa.Bool("is_impossible")) continue;
        Article::Question question{qa.String("question"), {}, p};
        const core::Json& answers = List(qa, "answers");
        for (size_t i = 0; i < answers.size(); ++i) {
          question.answers.push_back(Item(answers[i], qa, "answers", i).String("text"));
        }
        if (question.answers.empty()) throw qa.Wrong("answers", "at least one answer");
        article.questions.push_back(std::move(question));
      }
    }
  }
  return all;
}

/// The hub's layout: one question a row; rows of one title, and of one context, follow each other.
std::vector<Article> HubArticles(const std::vector<Record>& records) {
  std::vector<Article> all;
  std::string title;
  for (const Record& record : records) {
    const JsonObject row(*record.value, record.where, ErrorCode::kData);
    if (all.empty() || row.String("title") != title) all.emplace_back();
    title = row.String("title");
    Article& article = all.back();
    std::string context = row.String("context");
    if (article.paragraphs.empty() || article.paragraphs.back() != context) {
      article.paragraphs.push_back(std::move(context));
    }
    std::vector<std::string> answers = row.Object("answers").Strings("text");
    if (answers.empty()) continue;  // unanswerable
    article.questions.push_back(
        {row.String("question"), std::move(answers), article.paragraphs.size() - 1});
  }
  return all;
}

/// A HotpotQA paragraph as RULER shows it: the title, then the sentences without a separator.
std::string HotpotDocument(const JsonObject& record, const core::Json& title,
                           const core::Json& sentences) {
  if (!title.is_string() || !sentences.is_array()) {
    throw record.Wrong("context", "a list of [title, [sentence, ...]]");
  }
  std::string text = title.get<std::string>() + "\n";
  for (const core::Json& sentence : sentences) {
    if (!sentence.is_string()) throw record.Wrong("context", "sentences as strings");
    text += sentence.get_ref<const std::string&>();
  }
  return text;
}

/// The paragraphs of a question: pairs [title, sentences], or the hub's two lists of them.
std::vector<std::string> HotpotDocuments(const JsonObject& record) {
  std::vector<std::string> documents;
  if (record.At("context").is_object()) {
    const JsonObject context = record.Object("context");
    const core::Json& titles = List(context, "title");
    const core::Json& sentences = List(context, "sentences");
    if (titles.size() != sentences.size()) {
      throw record.Wrong("context", "as many titles as lists of sentences");
    }
    for (size_t i = 0; i < titles.size(); ++i) {
      documents.push_back(HotpotDocument(record, titles[i], sentences[i]));
    }
  } else {
    for (const core::Json& paragraph : List(record, "context")) {
      if (!paragraph.is_array() || paragraph.size() != 2) {
        throw record.Wrong("context", "a list of [title, [sentence, ...]]");
      }
      documents.push_back(HotpotDocument(record, paragraph[0], paragraph[1]));
    }
  }
  if (documents.empty()) throw record.Wrong("context", "at least one paragraph");
  return documents;
}

}  // namespace

QaSet LoadSquadSet(const DataSource& data) {
  const RecordSet file = data.Read(data.RequireAll(
      "squad_v2",
      {"squad/dev-v2.0.json", "hub:rajpurkar/squad_v2:squad_v2/validation*",
       "hub:lighteval/squad_v2:squad_v2/validation*", "hub:lighteval/squad_v2:data/validation*"}));
  const Record& first = file.records.at(0);
  const bool published = first.value->is_object() && first.value->contains("data");
  const std::vector<Article> articles =
      published ? PublishedArticles(first) : HubArticles(file.records);
  std::vector<std::string> documents;
  for (const Article& article : articles) {
    documents.insert(documents.end(), article.paragraphs.begin(), article.paragraphs.end());
  }
  DocumentIndex index(std::move(documents));
  QaSet set;
  for (const Article& article : articles) {
    std::vector<int64_t> places;
    for (const std::string& paragraph : article.paragraphs) places.push_back(index.Of(paragraph));
    for (const Article::Question& question : article.questions) {
      QaQuestion out{question.text, question.answers, {places[question.paragraph]}, {}};
      for (size_t p = 0; p < places.size(); ++p) {
        if (p != question.paragraph) out.more.push_back(places[p]);
      }
      set.questions.push_back(std::move(out));
    }
  }
  set.documents = index.Take();
  if (set.questions.empty()) throw DataError("{}: no answerable question", first.where);
  return set;
}

QaSet LoadHotpotSet(const DataSource& data) {
  const RecordSet file = data.Read(data.RequireAll(
      "hotpotqa",
      {"hotpotqa/hotpot_dev_distractor_v1.json", "hotpotqa/hotpot_dev_distractor_v1.jsonl",
       "hotpotqa/hotpotqa_validate.jsonl", "hub:hotpotqa/hotpot_qa:distractor/validation*"}));
  std::vector<std::vector<std::string>> paragraphs;
  std::vector<std::string> documents;
  QaSet set;
  for (const Record& record : file.records) {
    const JsonObject object(*record.value, record.where, ErrorCode::kData);
    paragraphs.push_back(HotpotDocuments(object));
    documents.insert(documents.end(), paragraphs.back().begin(), paragraphs.back().end());
    set.questions.push_back({object.String("question"), {object.String("answer")}, {}, {}});
  }
  DocumentIndex index(std::move(documents));
  for (size_t q = 0; q < paragraphs.size(); ++q) {
    for (const std::string& paragraph : paragraphs[q]) {
      set.questions[q].gold.push_back(index.Of(paragraph));
    }
  }
  set.documents = index.Take();
  return set;
}

}  // namespace natsl::tasks::ruler
