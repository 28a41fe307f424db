// WinoGrande: whom a pronoun's gap means, scored by what follows the gap.
#include "core/json.h"
#include "core/utf8.h"
#include "tasks/multiple_choice/tasks.h"

namespace natsl::tasks {
namespace {

RecordSet ReadWinogrande(const DataSource& data, const std::vector<std::filesystem::path>& files) {
  RecordSet set = data.Read(files);
  const core::JsonObject first(*set.records.front().value, set.records.front().where,
                               ErrorCode::kData);
  std::vector<std::string> labels;
  if (!first.Has("answer")) labels = ReadLabels(data, set);
  for (size_t i = 0; i < set.records.size(); ++i) {
    Record& record = set.records[i];
    const core::JsonObject object(*record.value, record.where, ErrorCode::kData);
    core::Json columns;
    for (const char* column : {"sentence", "option1", "option2"}) {
      columns[column] = object.String(column);
    }
    columns["answer"] = labels.empty() ? object.String("answer") : labels[i];
    record.value = std::make_shared<core::Json>(std::move(columns));
  }
  return set;
}

Choices RenderWinogrande(const core::JsonObject& record) {
  const std::string sentence = record.String("sentence");
  const size_t gap = sentence.find('_');
  if (gap == std::string::npos) throw record.Wrong("sentence", "a sentence with a gap '_'");
  const std::string suffix(core::PythonStrip(std::string_view(sentence).substr(gap + 1)));
  Choices document;
  for (const char* option : {"option1", "option2"}) {
    document.contexts.push_back(sentence.substr(0, gap) + record.String(option));
    document.choices.push_back(suffix);
  }
  const std::string answer = record.String("answer");
  if (answer != "1" && answer != "2") {
    throw record.Wrong("answer", answer.empty()
                                     ? "1 or 2 (an empty answer marks a split without labels)"
                                     : "1 or 2");
  }
  document.gold = answer == "1" ? 0 : 1;
  document.target = suffix;
  return document;
}

}  // namespace

MultipleChoiceSpec WinograndeSpec() {
  MultipleChoiceSpec spec;
  spec.card = MultipleChoiceCard(
      "winogrande", "pronoun resolution: the text after the gap is scored under both options",
      "winogrande", "validation", "1.0", "CC BY 4.0 (data)",
      "train split (xl); k + 1 drawn a document, the document itself removed", false);
  spec.layout.dataset = "winogrande";
  spec.layout.evaluated = {
      "validation",
      {"winogrande/dev.jsonl", "winogrande_1.1/dev.jsonl", "winogrande/winogrande_1.1/dev.jsonl",
       "hub:allenai/winogrande:winogrande_xl/validation*"}};
  spec.layout.pools = {{"train",
                        {"winogrande/train_xl.jsonl", "winogrande_1.1/train_xl.jsonl",
                         "winogrande/winogrande_1.1/train_xl.jsonl",
                         "hub:allenai/winogrande:winogrande_xl/train*"}}};
  spec.layout.read = ReadWinogrande;
  spec.layout.removes_document = true;
  spec.render = RenderWinogrande;
  return spec;
}

}  // namespace natsl::tasks
