// PIQA: which of two solutions reaches a goal.
#include "core/json.h"
#include "tasks/multiple_choice/tasks.h"

namespace natsl::tasks {
namespace {

RecordSet ReadPiqa(const DataSource& data, const std::vector<std::filesystem::path>& files) {
  RecordSet set = data.Read(files);
  const core::JsonObject first(*set.records.front().value, set.records.front().where,
                               ErrorCode::kData);
  std::vector<std::string> labels;
  if (!first.Has("label")) labels = ReadLabels(data, set);
  for (size_t i = 0; i < set.records.size(); ++i) {
    Record& record = set.records[i];
    const core::JsonObject object(*record.value, record.where, ErrorCode::kData);
    core::Json columns;
    for (const char* column : {"goal", "sol1", "sol2"}) columns[column] = object.String(column);
    if (labels.empty()) {
      columns["label"] = object.Int("label");
    } else if (labels[i] == "0" || labels[i] == "1") {
      columns["label"] = labels[i] == "0" ? 0 : 1;
    } else {
      throw DataError("{}:{}: the label is \"{}\", expected 0 or 1", data.Show(set.files.back()),
                      i + 1, labels[i]);
    }
    record.value = std::make_shared<core::Json>(std::move(columns));
  }
  return set;
}

Choices RenderPiqa(const core::JsonObject& record) {
  Choices document;
  document.contexts = {fmt::format("Question: {}\nAnswer:", record.String("goal"))};
  document.choices = {record.String("sol1"), record.String("sol2")};
  document.gold = record.Int("label");
  if (document.gold != 0 && document.gold != 1) {
    throw record.Wrong("label", document.gold == -1
                                    ? "0 or 1 (-1 marks a split without labels, such as test)"
                                    : "0 or 1");
  }
  document.target = std::to_string(document.gold);
  return document;
}

}  // namespace

MultipleChoiceSpec PiqaSpec() {
  MultipleChoiceSpec spec;
  spec.card =
      MultipleChoiceCard("piqa", "physical common sense: which of two solutions reaches a goal",
                         "piqa", "validation", "1.0", "Academic Free License 3.0",
                         "train split; k + 1 drawn a document, the document itself removed", true);
  spec.layout.dataset = "piqa";
  spec.layout.evaluated = {
      "validation",
      {"piqa/valid.jsonl", "piqa/physicaliqa-train-dev/dev.jsonl",
       "physicaliqa-train-dev/dev.jsonl", "piqa/validation.jsonl", "hub:baber/piqa:*/validation*",
       "hub:baber/piqa:validation*", "hub:ybisk/piqa:*/validation*"}};
  spec.layout.pools = {{"train",
                        {"piqa/train.jsonl", "piqa/physicaliqa-train-dev/train.jsonl",
                         "physicaliqa-train-dev/train.jsonl", "hub:baber/piqa:*/train*",
                         "hub:baber/piqa:train*", "hub:ybisk/piqa:*/train*"}}};
  spec.layout.read = ReadPiqa;
  spec.layout.removes_document = true;
  spec.render = RenderPiqa;
  return spec;
}

}  // namespace natsl::tasks
