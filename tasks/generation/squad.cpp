// SQuAD 2.0 with base models: an answer is generated, and "unanswerable" is weighed beside it.
#include "tasks/metrics/squad.h"

#include <cmath>

#include "core/json.h"
#include "tasks/generation/squad_layout.h"
#include "tasks/generation/tasks.h"

namespace natsl::tasks {
namespace {

using core::Json;
using core::JsonObject;

/// Answers as the hub has them, from the publisher's list of {text, answer_start} or as they are.
Json Answers(const JsonObject& question) {
  if (!question.Has("answers")) {
    throw DataError(
        "{}: the field \"answers\" is missing; a split without answers (test) can't be evaluated",
        question.where());
  }
  const Json& value = question.At("answers");
  if (value.is_object()) {
    question.Object("answers").Strings("text");
    return value;
  }
  Json texts = Json::array(), starts = Json::array();
  for (const Json& element : ListField(question, "answers")) {
    const JsonObject answer(element, question.where(), ErrorCode::kData);
    texts.push_back(answer.String("text"));
    if (answer.Has("answer_start")) starts.push_back(answer.At("answer_start"));
  }
  return {{"text", std::move(texts)}, {"answer_start", std::move(starts)}};
}

Json Columns(const JsonObject& question, const std::string& title, const std::string& context) {
  Json id = question.At("id");
  if (!id.is_string()) throw question.Wrong("id", "a string");
  return {{"id", std::move(id)},
          {"title", title},
          {"context", context},
          {"question", question.String("question")},
          {"answers", Answers(question)}};
}

std::vector<std::string> AnswerTexts(const JsonObject& record) {
  return record.Object("answers").Strings("text");
}

GenerationDocument RenderSquad(const JsonObject& record) {
  GenerationDocument document;
  document.context = "Title: " + record.String("title") +
                     "\n\nBackground: " + record.String("context") +
                     "\n\nQuestion: " + record.String("question") + "\n\nAnswer:";
  document.references = AnswerTexts(record);
  document.target =
      " " + (document.references.empty() ? "unanswerable" : document.references.front());
  return document;
}

std::vector<SampleMetric> Score(const GenerationDocument& document, const std::string& response,
                                double log_prob) {
  const metrics::ExactF1 score = metrics::SquadV2(response, document.references);
  const bool answerable = !document.references.empty();
  const auto only = [](bool applies, double value) {
    return applies ? std::vector<double>{value} : std::vector<double>{};
  };
  const double says = response.empty() ? 0 : 1, has = answerable ? 1 : 0;
  const double probability = std::exp(log_prob);
  return {{"exact", "none", {score.exact}},
          {"f1", "none", {score.f1}},
          {"HasAns_exact", "none", only(answerable, score.exact)},
          {"HasAns_f1", "none", only(answerable, score.f1)},
          {"NoAns_exact", "none", only(!answerable, score.exact)},
          {"NoAns_f1", "none", only(!answerable, score.f1)},
          {"best_exact", "none", {score.exact, has, says, probability}},
          {"best_f1", "none", {score.f1, has, says, probability}}};
}

}  // namespace

std::vector<Json> SquadQuestions(const JsonObject& record) {
  if (!record.Has("data")) {
    const std::string title = record.Has("title") ? record.String("title") : "";
    return {Columns(record, title, record.String("context"))};
  }
  std::vector<Json> questions;
  for (const Json& element : ListField(record, "data")) {
    const JsonObject article(element, record.where(), ErrorCode::kData);
    const std::string title = article.Has("title") ? article.String("title") : "";
    for (const Json& paragraph_value : ListField(article, "paragraphs")) {
      const JsonObject paragraph(paragraph_value, record.where() + ": " + title, ErrorCode::kData);
      const std::string context = paragraph.String("context");
      for (const Json& question : ListField(paragraph, "qas")) {
        questions.push_back(
            Columns(JsonObject(question, paragraph.where(), ErrorCode::kData), title, context));
      }
    }
  }
  return questions;
}

GenerationSpec SquadV2Spec() {
  GenerationSpec spec;
  spec.card = GenerationCard("squadv2", "answers from a passage, or none", "squad_v2", "3",
                             "CC BY-SA 4.0", "none: the protocol is zero-shot");
  for (const char* name : {"exact", "f1", "HasAns_exact", "HasAns_f1", "NoAns_exact", "NoAns_f1"}) {
    spec.card.metrics.push_back(
        {.name = name, .aggregation = Aggregation::kMeanWithoutError, .scale = 100});
  }
  for (const char* name : {"best_exact", "best_f1"}) {
    spec.card.metrics.push_back(
        {.name = name, .aggregation = Aggregation::kBestOverThresholds, .scale = 100});
  }
  spec.card.deviations = {
      "HasAns_* and NoAns_* have no value where the set has no such question; the protocol says 0"};
  spec.layout.dataset = "squad_v2";
  spec.layout.evaluated = {"validation",
                           {"squad/dev-v2.0.json", "hub:lighteval/squad_v2:data/validation*",
                            "hub:lighteval/squad_v2:squad_v2/validation*",
                            "hub:rajpurkar/squad_v2:squad_v2/validation*"}};
  spec.layout.read = [](const DataSource& data, const std::vector<std::filesystem::path>& files) {
    return ExpandRecords(data.Read(files), SquadQuestions);
  };
  spec.layout.id_field = "id";
  spec.stop = {"\n"};
  spec.also_scores = " unanswerable";
  spec.render = RenderSquad;
  spec.score = Score;
  return spec;
}

}  // namespace natsl::tasks
