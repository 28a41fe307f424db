// ARC: grade-school science questions, easy and challenge.
#include "core/json.h"
#include "tasks/multiple_choice/lettered_choices.h"
#include "tasks/multiple_choice/tasks.h"

namespace natsl::tasks {
namespace {

MultipleChoiceSpec ArcSpec(const std::string& name, const std::string& set) {
  MultipleChoiceSpec spec;
  spec.card =
      MultipleChoiceCard(name, fmt::format("grade-school science questions, {} set", set), name,
                         "test", "1.0", "CC BY-SA 4.0", "train split; k drawn a document", true);
  spec.layout.dataset = name;
  const auto files = [&set](const char* split, const char* hub_split) {
    const std::string published = fmt::format("ARC-{0}/ARC-{0}-{1}.jsonl", set, split);
    return SplitFiles{hub_split,
                      {"arc/" + published, published, "ARC-V1-Feb2018-2/" + published,
                       "arc/ARC-V1-Feb2018-2/" + published,
                       fmt::format("hub:allenai/ai2_arc:ARC-{}/{}*", set, hub_split)}};
  };
  spec.layout.evaluated = files("Test", "test");
  spec.layout.pools = {files("Train", "train")};
  spec.layout.read = [](const DataSource& data, const std::vector<std::filesystem::path>& paths) {
    return ConvertRecords(data.Read(paths), [](const core::JsonObject& record) {
      return LetteredColumns(record, "question");
    });
  };
  spec.layout.id_field = "id";
  spec.render = [](const core::JsonObject& record) {
    Choices document = LetteredChoices(record, /*strip_key=*/false);
    document.contexts = {fmt::format("Question: {}\nAnswer:", record.String("question"))};
    return document;
  };
  return spec;
}

}  // namespace

MultipleChoiceSpec ArcEasySpec() { return ArcSpec("arc_easy", "Easy"); }
MultipleChoiceSpec ArcChallengeSpec() { return ArcSpec("arc_challenge", "Challenge"); }

}  // namespace natsl::tasks
