// BoolQ in SuperGLUE's form: a passage and a yes/no question.
#include "core/json.h"
#include "tasks/multiple_choice/tasks.h"

namespace natsl::tasks {
namespace {

core::Json ConvertBoolq(const core::JsonObject& record) {
  core::Json columns;
  for (const char* column : {"question", "passage"}) columns[column] = record.String(column);
  if (record.Has("idx")) columns["idx"] = record.Int("idx");
  if (!record.Has("label") && record.Has("answer")) {
    throw DataError(
        "{}: the field \"label\" is missing but \"answer\" is there: this is the file of BoolQ's "
        "own "
        "release, whose passages lack their titles; expected SuperGLUE's val.jsonl",
        record.where());
  }
  if (!record.Has("label")) {
    throw DataError(
        "{}: the field \"label\" is missing; a split without labels (test) can't be evaluated",
        record.where());
  }
  const core::Json& label = record.At("label");
  const int64_t value = label.is_boolean() ? (label.get<bool>() ? 1 : 0) : record.Int("label");
  if (value != 0 && value != 1) {
    throw record.Wrong("label", value == -1
                                    ? "true, false, 0 or 1 (-1 marks a split without labels)"
                                    : "true, false, 0 or 1");
  }
  columns["label"] = value;
  return columns;
}

Choices RenderBoolq(const core::JsonObject& record) {
  Choices document;
  document.contexts = {fmt::format("{}\nQuestion: {}?\nAnswer:", record.String("passage"),
                                   record.String("question"))};
  document.choices = {"no", "yes"};
  document.gold = record.Int("label");
  document.target = std::to_string(document.gold);
  return document;
}

}  // namespace

MultipleChoiceSpec BoolQSpec() {
  MultipleChoiceSpec spec;
  spec.card = MultipleChoiceCard(
      "boolq", "yes/no questions about a passage", "boolq", "validation", "2.0", "CC BY-SA 3.0",
      "train split; k + 1 drawn a document, the document itself removed", false);
  spec.layout.dataset = "boolq";
  spec.layout.evaluated = {"validation",
                           {"boolq/val.jsonl", "BoolQ/val.jsonl", "boolq/BoolQ/val.jsonl",
                            "hub:aps/super_glue:boolq/validation*"}};
  spec.layout.pools = {{"train",
                        {"boolq/train.jsonl", "BoolQ/train.jsonl", "boolq/BoolQ/train.jsonl",
                         "hub:aps/super_glue:boolq/train*"}}};
  spec.layout.read = [](const DataSource& data, const std::vector<std::filesystem::path>& files) {
    return ConvertRecords(data.Read(files), ConvertBoolq);
  };
  spec.layout.id_field = "idx";
  spec.layout.removes_document = true;
  spec.render = RenderBoolq;
  return spec;
}

}  // namespace natsl::tasks
