// Social IQa: what people feel, want or do.
#include "core/json.h"
#include "tasks/multiple_choice/tasks.h"

namespace natsl::tasks {
namespace {

RecordSet ReadSocialIqa(const DataSource& data, const std::vector<std::filesystem::path>& files) {
  RecordSet set = data.Read(files);
  const core::JsonObject first(*set.records.front().value, set.records.front().where,
                               ErrorCode::kData);
  std::vector<std::string> labels;
  if (!first.Has("label")) labels = ReadLabels(data, set);
  for (size_t i = 0; i < set.records.size(); ++i) {
    Record& record = set.records[i];
    const core::JsonObject object(*record.value, record.where, ErrorCode::kData);
    core::Json columns;
    for (const char* column : {"context", "question", "answerA", "answerB", "answerC"}) {
      columns[column] = object.String(column);
    }
    if (labels.empty()) {
      columns["label"] = object.String("label");
    } else if (labels[i] == "1" || labels[i] == "2" || labels[i] == "3") {
      columns["label"] = labels[i];
    } else {
      throw DataError("{}:{}: the label is \"{}\", expected 1, 2 or 3", data.Show(set.files.back()),
                      i + 1, labels[i]);
    }
    record.value = std::make_shared<core::Json>(std::move(columns));
  }
  return set;
}

Choices RenderSocialIqa(const core::JsonObject& record) {
  Choices document;
  document.contexts = {
      fmt::format("Q: {} {}\nA:", record.String("context"), record.String("question"))};
  document.choices = {record.String("answerA"), record.String("answerB"), record.String("answerC")};
  const std::string label = record.String("label");
  if (label != "1" && label != "2" && label != "3") {
    throw record.Wrong("label", label.empty()
                                    ? "1, 2 or 3 (an empty label marks a split without labels)"
                                    : "1, 2 or 3");
  }
  document.gold = label[0] - '1';
  document.target = std::to_string(document.gold);
  return document;
}

}  // namespace

MultipleChoiceSpec SocialIqaSpec() {
  MultipleChoiceSpec spec;
  spec.card = MultipleChoiceCard(
      "social_iqa", "social situations: the fitting one of three answers", "siqa", "validation",
      "0.0", "CC BY 4.0 by the publisher's pages, not confirmed",
      "train split; k + 1 drawn a document, the document itself removed", false);
  spec.layout.dataset = "siqa";
  spec.layout.evaluated = {
      "validation",
      {"siqa/dev.jsonl", "socialiqa-train-dev/dev.jsonl", "siqa/socialiqa-train-dev/dev.jsonl",
       "hub:lighteval/siqa:*/validation*", "hub:lighteval/siqa:validation*"}};
  spec.layout.pools = {{"train",
                        {"siqa/train.jsonl", "socialiqa-train-dev/train.jsonl",
                         "siqa/socialiqa-train-dev/train.jsonl", "hub:lighteval/siqa:*/train*",
                         "hub:lighteval/siqa:train*"}}};
  spec.layout.read = ReadSocialIqa;
  spec.layout.removes_document = true;
  spec.render = RenderSocialIqa;
  return spec;
}

}  // namespace natsl::tasks
