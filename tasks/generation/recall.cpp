// The recall tasks of lm-evaluation-harness: a document, the name of a value in it, and the value.
#include "core/json.h"
#include "core/utf8.h"
#include "tasks/generation/squad_layout.h"
#include "tasks/generation/tasks.h"
#include "tasks/metrics/contains.h"

namespace natsl::tasks {
namespace {

using core::Json;
using core::JsonObject;

Json RecallColumns(const JsonObject& record) {
  record.String("text");
  if (!record.Has("value")) {
    throw DataError(
        "{}: the field \"value\" is missing; a split without answers can't be evaluated",
        record.where());
  }
  record.String("value");
  return record.json();
}

GenerationDocument RenderRecall(const JsonObject& record) {
  GenerationDocument document;
  document.context = core::PythonStrip(record.String("text"));
  document.target = core::PythonStrip(record.String("value"));
  if (document.target.empty()) {
    // It would occur in every generation.
    throw record.Wrong("value", "an answer that isn't blank");
  }
  document.references = {document.target};
  return document;
}

GenerationSpec RecallSpec(const std::string& name, std::string summary, std::string licence,
                          const std::string& hub) {
  GenerationSpec spec;
  spec.card = GenerationCard(name, std::move(summary), name, "1", std::move(licence),
                             "none: the protocol is zero-shot");
  spec.card.metrics = {{.name = "contains", .aggregation = Aggregation::kMeanWithoutError}};
  spec.layout.dataset = name;
  spec.layout.evaluated = {"validation",
                           {name + "/validation.jsonl", name + "/validation.json",
                            "hub:" + hub + ":data/validation*", "hub:" + hub + ":validation*"}};
  spec.layout.read = [](const DataSource& data, const std::vector<std::filesystem::path>& files) {
    return ConvertRecords(data.Read(files), RecallColumns);
  };
  spec.stop = {"\n"};
  spec.max_new_tokens = 48;
  spec.render = RenderRecall;
  spec.score = [](const GenerationDocument& document, const std::string& response, double) {
    const double value = metrics::ContainsStripped(response, document.references[0]);
    return std::vector<SampleMetric>{{"contains", "none", {value}}};
  };
  return spec;
}

/// A file of SQuAD 1.1 as documents of the completion form, its questions as they are.
std::vector<Json> CompletionsOf(const JsonObject& record) {
  if (!record.Has("data")) return {RecallColumns(record)};
  std::vector<Json> documents;
  for (const Json& value : SquadQuestions(record)) {
    const JsonObject question(value, record.where(), ErrorCode::kData);
    const std::vector<std::string> answers = question.Object("answers").Strings("text");
    if (answers.empty()) throw question.Wrong("answers", "at least one answer (SQuAD 1.1)");
    documents.push_back({{"id", question.String("id")},
                         {"text", question.String("context") +
                                      "\nQuestion: " + question.String("question") + "\nAnswer:"},
                         {"value", answers.front()},
                         {"stand_in", true}});
  }
  return documents;
}

}  // namespace

GenerationSpec SwdeSpec() {
  return RecallSpec("swde", "attributes of films and universities in web pages",
                    "see SWDE's authors", "hazyresearch/based-swde-v2");
}

GenerationSpec FdaSpec() {
  return RecallSpec("fda", "attributes in summaries of medical devices", "public domain (US)",
                    "hazyresearch/based-fda");
}

GenerationSpec SquadCompletionSpec() {
  GenerationSpec spec =
      RecallSpec("squad_completion", "SQuAD with its questions as sentences to complete",
                 "CC BY-SA 4.0", "hazyresearch/based-squad");
  spec.card.deviations = {
      "a file of SQuAD 1.1 (squad/xquad.en.json) is read too, for tests: its questions aren't "
      "reworded, and the run warns of it"};
  spec.layout.evaluated.candidates.emplace_back("squad/xquad.en.json");
  spec.layout.read = [](const DataSource& data, const std::vector<std::filesystem::path>& files) {
    return ExpandRecords(data.Read(files), CompletionsOf);
  };
  // The protocol's class asks for "\n" and 48 tokens, but the harness's defaults win over it.
  spec.stop = {"\n\n"};
  spec.max_new_tokens = 256;
  const auto render = spec.render;
  spec.render = [render](const JsonObject& record) {
    GenerationDocument document = render(record);
    document.stand_in = record.Has("stand_in");
    return document;
  };
  spec.warn = [](const std::vector<GenerationDocument>& documents) {
    std::vector<std::string> warnings;
    if (documents.front().stand_in) {
      warnings.emplace_back(
          "task squad_completion: the documents come from a SQuAD 1.1 file, whose questions aren't "
          "reworded as completions; the score isn't comparable with published ones");
    }
    return warnings;
  };
  return spec;
}

}  // namespace natsl::tasks
