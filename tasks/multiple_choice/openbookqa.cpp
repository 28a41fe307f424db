// OpenBookQA: elementary science, the question shown bare.
#include "core/json.h"
#include "tasks/multiple_choice/lettered_choices.h"
#include "tasks/multiple_choice/tasks.h"

namespace natsl::tasks {

MultipleChoiceSpec OpenBookQaSpec() {
  MultipleChoiceSpec spec;
  spec.card = MultipleChoiceCard(
      "openbookqa", "elementary science, no frame around the question", "openbookqa", "test", "1.0",
      "Apache-2.0 (repository; none stated for the data)", "train split; k drawn a document", true);
  spec.layout.dataset = "openbookqa";
  const auto files = [](const char* split) {
    const std::string published = fmt::format("Main/{}.jsonl", split);
    return SplitFiles{split,
                      {"openbookqa/" + published, "OpenBookQA-V1-Sep2018/Data/" + published,
                       "openbookqa/OpenBookQA-V1-Sep2018/Data/" + published,
                       fmt::format("hub:allenai/openbookqa:main/{}*", split)}};
  };
  spec.layout.evaluated = files("test");
  spec.layout.pools = {files("train")};
  spec.layout.read = [](const DataSource& data, const std::vector<std::filesystem::path>& paths) {
    return ConvertRecords(data.Read(paths), [](const core::JsonObject& record) {
      return LetteredColumns(record, "question_stem");
    });
  };
  spec.layout.id_field = "id";
  spec.render = [](const core::JsonObject& record) {
    Choices document = LetteredChoices(record, /*strip_key=*/true);
    document.contexts = {record.String("question_stem")};
    return document;
  };
  return spec;
}

}  // namespace natsl::tasks
