// DROP: questions about a passage that need counting, sorting or adding.
#include "tasks/metrics/drop.h"

#include "core/json.h"
#include "core/utf8.h"
#include "tasks/generation/tasks.h"

namespace natsl::tasks {
namespace {

using core::Json;
using core::JsonObject;

std::string TextOr(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

/// An answer with all of its keys, dates completed by "".
Json Answer(const JsonObject& answer) {
  Json out = answer.json();
  if (!answer.Has("date")) out["date"] = Json::object();
  for (const char* key : {"day", "month", "year"}) out["date"][key] = TextOr(out["date"], key);
  if (!answer.Has("number")) out["number"] = "";
  if (!answer.Has("spans")) out["spans"] = Json::array();
  return out;
}

Json SpanAnswer(std::string_view span) {
  return {{"number", ""},
          {"date", {{"day", ""}, {"month", ""}, {"year", ""}}},
          {"spans", Json::array({span})}};
}

/// "Passage: P\nQuestion: Q\nAnswer:" with the answers joined by "|".
Json FromPrompt(const JsonObject& record) {
  constexpr std::string_view kPassage = "Passage: ", kQuestion = "\nQuestion: ",
                             kAnswer = "\nAnswer:";
  const std::string text = record.String("context");
  const size_t question = text.rfind(kQuestion);
  if (!text.starts_with(kPassage) || !text.ends_with(kAnswer) || question == std::string::npos) {
    throw record.Wrong("context", "\"Passage: ...\\nQuestion: ...\\nAnswer:\"");
  }
  const size_t begin = question + kQuestion.size();
  Json columns = {{"passage", text.substr(kPassage.size(), question - kPassage.size())},
                  {"question", text.substr(begin, text.size() - kAnswer.size() - begin)}};
  Json validated = Json::array();
  std::string_view answers = record.json().at("ref_text").get_ref<const std::string&>();
  for (bool first = true;; first = false) {
    const std::string_view part = answers.substr(0, answers.find('|'));
    if (first) {
      columns["answer"] = SpanAnswer(part);
    } else {
      validated.push_back(SpanAnswer(part));
    }
    if (part.size() == answers.size()) break;
    answers.remove_prefix(part.size() + 1);
  }
  columns["validated_answers"] = std::move(validated);
  return columns;
}

/// Validated answers as a list of objects, from that or from the hub's object of lists.
Json Validated(const JsonObject& record) {
  Json out = Json::array();
  if (!record.Has("validated_answers")) return out;
  const Json& value = record.At("validated_answers");
  if (value.is_array()) {
    for (const Json& answer : value) {
      out.push_back(Answer(JsonObject(answer, record.where(), ErrorCode::kData)));
    }
    return out;
  }
  const JsonObject lists = record.Object("validated_answers");
  const Json& numbers = ListField(lists, "number");
  const Json& dates = ListField(lists, "date");
  const Json& spans = ListField(lists, "spans");
  if (dates.size() != numbers.size() || spans.size() != numbers.size()) {
    throw record.Wrong("validated_answers", "lists of equal length");
  }
  for (size_t i = 0; i < numbers.size(); ++i) {
    const Json answer = {{"number", numbers[i]}, {"date", dates[i]}, {"spans", spans[i]}};
    out.push_back(Answer(JsonObject(answer, record.where(), ErrorCode::kData)));
  }
  return out;
}

Json Question(const JsonObject& pair, const std::string& passage) {
  Json columns = Json::object();
  if (pair.Has("query_id")) columns["query_id"] = pair.At("query_id");
  columns["passage"] = passage;
  columns["question"] = pair.String("question");
  if (!pair.Has("answer")) {
    throw DataError(
        "{}: the field \"answer\" is missing; a split without answers (test) can't be evaluated",
        pair.where());
  }
  columns["answer"] = Answer(pair.Object("answer"));
  columns["validated_answers"] = Validated(pair);
  return columns;
}

std::vector<Json> Expand(const JsonObject& record) {
  if (record.Has("context") && record.Has("ref_text")) {
    record.String("ref_text");
    return {FromPrompt(record)};
  }
  if (record.Has("question")) return {Question(record, record.String("passage"))};
  std::vector<Json> questions;
  for (const auto& [id, value] : record.json().items()) {
    const JsonObject passage(value, record.where() + ": " + id, ErrorCode::kData);
    const std::string text = passage.String("passage");
    for (const Json& pair : ListField(passage, "qa_pairs")) {
      questions.push_back(Question(JsonObject(pair, passage.where(), ErrorCode::kData), text));
    }
  }
  return questions;
}

metrics::DropAnswerFields Fields(const JsonObject& answer) {
  const JsonObject date = answer.Object("date");
  return {.number = answer.String("number"),
          .day = date.String("day"),
          .month = date.String("month"),
          .year = date.String("year"),
          .spans = answer.Strings("spans")};
}

GenerationDocument RenderDrop(const JsonObject& record) {
  GenerationDocument document;
  document.context = record.String("passage") + " " + record.String("question");
  const JsonObject answer = record.Object("answer");
  // The protocol joins the answer's keys, not its values; scores don't see it, examples do.
  for (const auto& [key, value] : answer.json().items()) {
    document.target += (document.target.empty() ? "" : ",") + key;
  }
  document.shown = document.target;
  std::vector<metrics::DropAnswerFields> candidates = {Fields(answer)};
  for (const Json& validated : ListField(record, "validated_answers")) {
    candidates.push_back(Fields(JsonObject(validated, record.where(), ErrorCode::kData)));
  }
  document.golds = metrics::DistinctAnswers(candidates);
  return document;
}

bool HasAnswer(const GenerationDocument& document) {
  for (const auto& gold : document.golds) {
    if (!core::PythonStrip(gold.front()).empty()) return true;
  }
  return false;
}

std::vector<std::string> Warn(const std::vector<GenerationDocument>& documents) {
  size_t without = 0;
  for (const GenerationDocument& document : documents) without += HasAnswer(document) ? 0 : 1;
  if (without == documents.size()) {
    throw DataError("drop: every answer is empty; a split without answers can't be evaluated");
  }
  if (without == 0) return {};
  return {fmt::format("task drop: {} of {} documents have an empty answer and score 0", without,
                      documents.size())};
}

}  // namespace

GenerationSpec DropSpec() {
  GenerationSpec spec;
  spec.card =
      GenerationCard("drop", "discrete reasoning over a passage", "drop", "3.0", "CC BY-SA 4.0",
                     "train split; k + 1 drawn, the document itself removed");
  spec.card.metrics = {{.name = "em"}, {.name = "f1"}};
  spec.card.deviations = {
      "an answer's number, date and spans glue digits as the protocol does: 1,000.5 is 10005.0"};
  spec.layout.dataset = "drop";
  spec.layout.evaluated = {
      "validation",
      {"drop/drop_dataset_dev.json", "drop/drop_v0_dev.jsonl", "drop/drop.json",
       "hub:EleutherAI/drop:*validation*", "hub:EleutherAI/drop:data/validation*",
       "hub:ucinlp/drop:data/validation*"}};
  spec.layout.pools = {{"train",
                        {"drop/drop_dataset_train.json", "hub:EleutherAI/drop:*train*",
                         "hub:EleutherAI/drop:data/train*", "hub:ucinlp/drop:data/train*"}}};
  spec.layout.read = [](const DataSource& data, const std::vector<std::filesystem::path>& files) {
    return ExpandRecords(data.Read(files), Expand);
  };
  spec.layout.id_field = "query_id";
  spec.layout.removes_document = true;
  spec.target_delimiter = "";
  spec.stop = {"."};
  spec.render = RenderDrop;
  spec.warn = Warn;
  spec.score = [](const GenerationDocument& document, const std::string& response, double) {
    const metrics::DropScore score = metrics::DropHarness(response, document.golds);
    return std::vector<SampleMetric>{{"em", "none", {score.em}}, {"f1", "none", {score.f1}}};
  };
  return spec;
}

}  // namespace natsl::tasks
