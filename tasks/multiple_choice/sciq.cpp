// SciQ: science exam questions with a supporting paragraph.
#include "core/json.h"
#include "core/utf8.h"
#include "tasks/multiple_choice/tasks.h"

namespace natsl::tasks {
namespace {

core::Json ConvertSciq(const core::JsonObject& record) {
  core::Json columns;
  for (const char* column :
       {"question", "distractor3", "distractor1", "distractor2", "correct_answer", "support"}) {
    columns[column] = record.String(column);
  }
  return columns;
}

Choices RenderSciq(const core::JsonObject& record) {
  Choices document;
  const std::string support = record.String("support");
  document.contexts = {fmt::format("{}\nQuestion: {}\nAnswer:", core::PythonLstrip(support),
                                   record.String("question"))};
  for (const char* column : {"distractor1", "distractor2", "distractor3", "correct_answer"}) {
    document.choices.push_back(record.String(column));
  }
  document.gold = 3;
  document.target = "3";
  return document;
}

}  // namespace

MultipleChoiceSpec SciqSpec() {
  MultipleChoiceSpec spec;
  spec.card = MultipleChoiceCard(
      "sciq", "science exam questions with a supporting paragraph; the gold answer stands last",
      "sciq", "test", "1.0", "CC BY-NC 3.0", "train split; k drawn a document", true);
  spec.layout.dataset = "sciq";
  const auto files = [](const char* split) {
    return SplitFiles{split,
                      {fmt::format("sciq/{}.json", split), fmt::format("sciq/{}.jsonl", split),
                       fmt::format("SciQ dataset-2 3/{}.json", split),
                       fmt::format("sciq/SciQ dataset-2 3/{}.json", split),
                       fmt::format("hub:allenai/sciq:data/{}*", split)}};
  };
  spec.layout.evaluated = files("test");
  spec.layout.pools = {files("train")};
  spec.layout.read = [](const DataSource& data, const std::vector<std::filesystem::path>& paths) {
    return ConvertRecords(data.Read(paths), ConvertSciq);
  };
  spec.render = RenderSciq;
  return spec;
}

}  // namespace natsl::tasks
