// Closed-book questions: Natural Questions (open) and TriviaQA.
#include "core/json.h"
#include "tasks/generation/tasks.h"
#include "tasks/metrics/exact_match.h"
#include "tasks/metrics/python_text.h"

namespace natsl::tasks {
namespace {

using core::Json;
using core::JsonObject;

constexpr const char* kFilter = "remove_whitespace";

GenerationDocument WithAnswers(std::vector<std::string> answers, const JsonObject& record,
                               const char* field) {
  if (answers.empty()) {
    throw record.Wrong(field, "at least one accepted answer");
  }
  GenerationDocument document;
  document.shown = answers.front();
  document.target = metrics::PythonRepr(answers);
  document.references = std::move(answers);
  return document;
}

void Configure(GenerationSpec& spec) {
  spec.card.metrics = {{.name = "exact_match", .filter = kFilter}};
  spec.stop = {"\n", ".", ","};
  spec.strips_response = true;
  spec.layout.removes_document = true;
}

std::vector<SampleMetric> Metric(double value) { return {{"exact_match", kFilter, {value}}}; }

Json NqColumns(const JsonObject& record) {
  if (!record.Has("answer")) {
    throw DataError(
        "{}: the field \"answer\" is missing; a split without answers (test) can't be evaluated",
        record.where());
  }
  return {{"question", record.String("question")}, {"answer", record.Strings("answer")}};
}

/// A question in any of the three layouts: the prompt file's {context, aliases}, the publisher's
/// {Data: [{Question, Answer: {Aliases}}]}, the hub's {question, answer: {aliases}}.
std::vector<Json> TriviaColumns(const JsonObject& record) {
  const auto columns = [](const Json& id, const std::string& question, const Json& aliases) {
    Json out = {{"question", question}};
    if (!id.is_null()) out["question_id"] = id;
    out["answer"] = {{"aliases", aliases}};
    return out;
  };
  if (record.Has("Data")) {
    std::vector<Json> questions;
    for (const Json& element : ListField(record, "Data")) {
      const JsonObject item(element, record.where(), ErrorCode::kData);
      if (!item.Has("Answer")) {
        throw DataError(
            "{}: a question has no \"Answer\"; a split without answers (test) can't be "
            "evaluated",
            item.where());
      }
      questions.push_back(columns(item.Has("QuestionId") ? item.At("QuestionId") : Json(),
                                  item.String("Question"),
                                  item.Object("Answer").Strings("Aliases")));
    }
    return questions;
  }
  if (record.Has("aliases")) {
    constexpr std::string_view kQuestion = "Question: ", kAnswer = "\nAnswer:";
    const std::string text = record.String("context");
    if (!text.starts_with(kQuestion) || !text.ends_with(kAnswer)) {
      throw record.Wrong("context", "\"Question: ...\\nAnswer:\"");
    }
    const size_t length = text.size() - kQuestion.size() - kAnswer.size();
    return {columns(Json(), text.substr(kQuestion.size(), length), record.Strings("aliases"))};
  }
  return {columns(record.Has("question_id") ? record.At("question_id") : Json(),
                  record.String("question"), record.Object("answer").Strings("aliases"))};
}

/// The publisher's development set is two files.
RecordSet ReadTrivia(const DataSource& data, std::vector<std::filesystem::path> files) {
  if (files.size() == 1 && files[0].filename().string().starts_with("web-")) {
    std::string other = files[0].filename().string();
    other.replace(0, 3, "wikipedia");
    const std::filesystem::path second = files[0].parent_path() / other;
    if (std::filesystem::exists(second)) files.push_back(second);
  }
  return ExpandRecords(data.Read(files), TriviaColumns);
}

}  // namespace

GenerationSpec NqOpenSpec() {
  GenerationSpec spec;
  spec.card =
      GenerationCard("nq_open", "questions of search users, closed book", "nq_open", "4.0",
                     "CC BY-SA 3.0", "train split; k + 1 drawn, the document itself removed");
  Configure(spec);
  spec.layout.dataset = "nq_open";
  spec.layout.evaluated = {
      "validation",
      {"nq_open/NQ-open.dev.jsonl", "hub:google-research-datasets/nq_open:nq_open/validation*"}};
  spec.layout.pools = {
      {"train",
       {"nq_open/NQ-open.train.jsonl", "hub:google-research-datasets/nq_open:nq_open/train*"}}};
  spec.layout.read = [](const DataSource& data, const std::vector<std::filesystem::path>& files) {
    return ConvertRecords(data.Read(files), NqColumns);
  };
  spec.description = "Answer these questions:\n\n";
  spec.example_delimiter = "\n";
  spec.render = [](const JsonObject& record) {
    GenerationDocument document = WithAnswers(record.Strings("answer"), record, "answer");
    document.context = "Q: " + record.String("question") + "?\nA:";
    return document;
  };
  spec.score = [](const GenerationDocument& document, const std::string& response, double) {
    return Metric(metrics::NqOpenExactMatch().AnyOf(response, document.references));
  };
  return spec;
}

GenerationSpec TriviaQaSpec() {
  GenerationSpec spec;
  spec.card = GenerationCard("triviaqa", "trivia questions, closed book", "triviaqa", "3.0",
                             "Apache-2.0; the questions' copyright stays with their authors",
                             "train split; k + 1 drawn, the document itself removed");
  Configure(spec);
  spec.layout.dataset = "triviaqa";
  spec.layout.evaluated = {"validation",
                           {"triviaqa/triviaqa_sm_sub.jsonl", "triviaqa/qa/web-dev.json",
                            "hub:mandarjoshi/trivia_qa:rc.nocontext/validation*"}};
  spec.layout.pools = {
      {"train", {"triviaqa/qa/web-train.json", "hub:mandarjoshi/trivia_qa:rc.nocontext/train*"}}};
  spec.layout.read = ReadTrivia;
  spec.render = [](const JsonObject& record) {
    GenerationDocument document =
        WithAnswers(record.Object("answer").Strings("aliases"), record, "answer");
    document.context = "Question: " + record.String("question") + "?\nAnswer:";
    return document;
  };
  spec.score = [](const GenerationDocument& document, const std::string& response, double) {
    return Metric(metrics::TriviaQaExactMatch().AnyOf(response, document.references));
  };
  return spec;
}

}  // namespace natsl::tasks
