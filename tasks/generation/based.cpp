// The recall suite of the HazyResearch fork.
#include "tasks/generation/based.h"

#include <utility>

#include "core/cast.h"
#include "core/json.h"
#include "core/utf8.h"
#include "tasks/generation/based_context.h"
#include "tasks/generation/based_prompts.h"
#include "tasks/generation/generation_task.h"
#include "tasks/metrics/contains.h"
#include "tasks/metrics/python_text.h"
#include "tasks/parameters.h"

namespace natsl::tasks {
namespace {

using core::Json;
using core::JsonObject;

struct BasedForm {
  const char* name;
  const char* summary;
  const char* dataset;  ///< folder of the data
  const char* hub;
  const char* context;  ///< field of the document
  bool single_answer;   ///< "value", else the list "answers"
  bool uses_key;
  std::vector<const char*> cut_by;  ///< fields whose text the window is laid around
  std::string (*prompt)(const BasedFields&, bool twice);
};

std::vector<BasedForm> Forms() {
  return {
      {"based_swde",
       "attributes in web pages",
       "swde",
       "hazyresearch/based-swde-v2",
       "text",
       true,
       true,
       {"key", "value"},
       BasedSwdePrompt},
      {"based_fda",
       "attributes in device summaries",
       "fda",
       "hazyresearch/based-fda",
       "text",
       true,
       true,
       {"key", "value"},
       BasedFdaPrompt},
      {"based_squad",
       "SQuAD as completion",
       "squad_completion",
       "hazyresearch/based-squad",
       "text",
       true,
       false,
       {"value"},
       BasedSquadPrompt},
      {"based_drop",
       "DROP as completion",
       "based_drop",
       "hazyresearch/based_drop",
       "context",
       false,
       false,
       {},
       BasedDropPrompt},
      {"based_triviaqa",
       "TriviaQA with documents",
       "based_triviaqa",
       "hazyresearch/based_triviaqa",
       "context",
       false,
       false,
       {},
       BasedTriviaQaPrompt},
      {"based_nq_512",
       "Natural Questions, 512 tokens",
       "based_nq_512",
       "hazyresearch/based_nq_512",
       "context",
       false,
       false,
       {"answers"},
       BasedNqPrompt},
      {"based_nq_1024",
       "Natural Questions, 1024 tokens",
       "based_nq_1024",
       "hazyresearch/based_nq_1024",
       "context",
       false,
       false,
       {"answers"},
       BasedNqPrompt},
      {"based_nq_2048",
       "Natural Questions, 2048 tokens",
       "based_nq_2048",
       "hazyresearch/based_nq_2048",
       "context",
       false,
       false,
       {"answers"},
       BasedNqPrompt},
  };
}

std::string TextOr(const JsonObject& record, const char* key) {
  return record.Has(key) ? record.String(key) : "";
}

std::vector<std::string> AnswersOf(const BasedForm& form, const JsonObject& record) {
  const char* field = form.single_answer ? "value" : "answers";
  if (!record.Has(field)) {
    throw DataError("{}: the field \"{}\" is missing; a split without answers can't be evaluated",
                    record.where(), field);
  }
  std::vector<std::string> answers =
      form.single_answer ? std::vector{record.String("value")} : record.Strings("answers");
  if (answers.empty()) throw record.Wrong(field, "at least one answer");
  return answers;
}

/// Text of the field, or its first element.
std::string FirstText(const JsonObject& record, const char* field) {
  if (!record.Has(field)) return "";
  if (record.At(field).is_string()) return record.String(field);
  const std::vector<std::string> texts = record.Strings(field);
  return texts.empty() ? "" : texts.front();
}

struct Cutting {
  int64_t context_length = 2048;  ///< 0: no cutting
  int64_t answer_length = 50;
  std::function<int64_t(const std::string&)> count_tokens;
};

/// True where the fork leaves the document out: a text to search for of at most one character.
bool IsDropped(const BasedForm& form, const JsonObject& record) {
  for (const char* field : form.cut_by) {
    if (core::CountCodePoints(FirstText(record, field)) <= 1) return true;
  }
  return false;
}

std::string CutContext(const BasedForm& form, const JsonObject& record, const Cutting& cutting) {
  const std::string text(core::PythonStrip(record.String(form.context)));
  int64_t position = 0;
  if (!form.cut_by.empty()) {
    std::vector<std::string> needles;
    for (const char* field : form.cut_by) needles.push_back(FirstText(record, field));
    position = FirstOccurrence(text, needles);
    if (position < 0 && record.Has("alt_answers")) {
      for (const std::string& answer : record.Strings("alt_answers")) {
        position = FirstOccurrence(text, {answer});
        if (position >= 0) break;
      }
    }
  }
  return CutAround(text, position, cutting.context_length, cutting.answer_length,
                   cutting.count_tokens);
}

RecordSet ReadCut(const BasedForm& form, const Cutting& cutting, RecordSet set) {
  RecordSet kept = set;
  kept.records.clear();
  for (const Record& record : set.records) {
    const JsonObject object(*record.value, record.where, ErrorCode::kData);
    AnswersOf(form, object);
    object.String(form.context);
    if (cutting.context_length > 0 && IsDropped(form, object)) continue;
    kept.records.push_back(record);
  }
  if (cutting.context_length == 0) return kept;
  return ConvertRecords(std::move(kept), [&](const JsonObject& record) {
    Json columns = record.json();
    columns[form.context] = CutContext(form, record, cutting);
    return columns;
  });
}

GenerationDocument Render(const BasedForm& form, bool twice, const JsonObject& record) {
  BasedFields fields;
  fields.context = record.String(form.context);
  if (form.uses_key) fields.key = record.String("key");
  fields.question = TextOr(record, "question");
  fields.orig_question = TextOr(record, "orig_question");
  if (!form.single_answer && fields.question.empty()) {
    throw record.Wrong("question", "a question");
  }
  GenerationDocument document;
  document.context = form.prompt(fields, twice);
  document.references = AnswersOf(form, record);
  document.target =
      form.single_answer ? document.references[0] : metrics::PythonRepr(document.references);
  return document;
}

TaskCard CardOf(const BasedForm& form, bool twice) {
  TaskCard card;
  card.name = std::string(form.name) + (twice ? "_twice" : "");
  card.summary = std::string(form.summary) + (twice ? ", the document given twice" : "");
  card.dataset = form.dataset;
  card.split = "validation";
  card.protocol = "HazyResearch prefix-linear-attention, lm-eval 0.4.1 fork";
  card.version = "0";
  card.output_type = "generate_until";
  card.licence = "see the dataset's authors";
  card.few_shot = "none: the protocol is zero-shot";
  card.metrics = {{.name = "contains", .aggregation = Aggregation::kMeanWithoutError}};
  card.deviations = {
      "the window of a long document is laid by counting tokens; its ends may differ from the "
      "fork's decoded ids by the characters of one token",
      "text after the end of text isn't generated; the fork may decode and match it"};
  return card;
}

std::unique_ptr<Task> Load(const BasedForm& form, bool twice, const DataSource& data,
                           const TaskOptions& options) {
  GenerationSpec spec;
  spec.card = CardOf(form, twice);
  const Parameters parameters(spec.card.name, options, {"context_length", "answer_length"});
  Cutting cutting;
  cutting.context_length = parameters.Count("context_length", 0).value_or(2048);
  cutting.answer_length = parameters.Count("answer_length", 0).value_or(50);
  cutting.count_tokens = options.count_tokens;
  if (cutting.context_length > 0 && !cutting.count_tokens) {
    throw UsageError(
        "task {}: documents are cut to {} tokens, which needs a model that counts tokens; "
        "{}@context_length=0 leaves them whole",
        spec.card.name, cutting.context_length, spec.card.name);
  }
  if (cutting.context_length > 0 && cutting.context_length <= cutting.answer_length) {
    throw UsageError("task {}: context_length {} leaves nothing beside answer_length {}",
                     spec.card.name, cutting.context_length, cutting.answer_length);
  }
  const std::string folder = form.dataset, hub = form.hub;
  spec.layout.dataset = folder;
  spec.layout.evaluated = {"validation",
                           {folder + "/validation.jsonl", folder + "/validation.json",
                            "hub:" + hub + ":data/validation*", "hub:" + hub + ":validation*"}};
  spec.layout.read = [form, cutting](const DataSource& source,
                                     const std::vector<std::filesystem::path>& files) {
    return ReadCut(form, cutting, source.Read(files));
  };
  spec.stop = {"\n"};
  spec.max_new_tokens = 48;
  spec.render = [form, twice](const JsonObject& record) { return Render(form, twice, record); };
  spec.score = [](const GenerationDocument& document, const std::string& response, double) {
    const double value = metrics::ContainsAnyOf(response, document.references);
    return std::vector<SampleMetric>{{"contains", "none", {value}}};
  };
  return LoadGeneration(spec, data, options);
}

}  // namespace

std::vector<TaskEntry> BasedTasks() {
  std::vector<TaskEntry> entries;
  for (const BasedForm& form : Forms()) {
    for (const bool twice : {false, true}) {
      TaskEntry entry;
      entry.name = CardOf(form, twice).name;
      entry.card = [form, twice] { return CardOf(form, twice); };
      entry.load = [form, twice](const DataSource& data, const TaskOptions& options) {
        return Load(form, twice, data, options);
      };
      entry.parameters = {"context_length", "answer_length"};
      entries.push_back(std::move(entry));
    }
  }
  return entries;
}

}  // namespace natsl::tasks
