// Labelled answers: reading and finding the key.
#include "tasks/multiple_choice/lettered_choices.h"

#include <algorithm>

#include "core/json.h"
#include "core/utf8.h"

namespace natsl::tasks {

core::Json LetteredColumns(const core::JsonObject& record, const std::string& question_column) {
  core::Json columns;
  if (record.Has("id")) columns["id"] = record.String("id");
  const bool published = record.Has("question") && record.At("question").is_object();
  if (published) {
    const core::JsonObject question = record.Object("question");
    columns[question_column] = question.String("stem");
    const core::Json& choices = question.At("choices");
    if (!choices.is_array()) throw question.Wrong("choices", "a list of {text, label}");
    core::Json text = core::Json::array();
    core::Json label = core::Json::array();
    for (size_t i = 0; i < choices.size(); ++i) {
      const core::JsonObject choice(
          choices[i], fmt::format("{}: \"choices\"[{}]", question.where(), i), ErrorCode::kData);
      text.push_back(choice.String("text"));
      label.push_back(choice.String("label"));
    }
    columns["choices"]["text"] = std::move(text);
    columns["choices"]["label"] = std::move(label);
  } else {
    columns[question_column] = record.String(question_column);
    const core::JsonObject choices = record.Object("choices");
    columns["choices"]["text"] = choices.Strings("text");
    columns["choices"]["label"] = choices.Strings("label");
  }
  columns["answerKey"] = record.String("answerKey");
  return columns;
}

Choices LetteredChoices(const core::JsonObject& record, bool strip_key) {
  const core::JsonObject choices = record.Object("choices");
  Choices document;
  document.choices = choices.Strings("text");
  const std::vector<std::string> labels = choices.Strings("label");
  if (labels.size() != document.choices.size()) {
    throw DataError("{}: {} labels for {} choices, expected one each", record.where(),
                    labels.size(), document.choices.size());
  }
  const std::string key = record.String("answerKey");
  const auto found = std::find(labels.begin(), labels.end(),
                               strip_key ? std::string(core::PythonLstrip(key)) : key);
  if (found == labels.end()) {
    throw record.Wrong(
        "answerKey",
        fmt::format("one of {}{}", fmt::join(labels, ", "),
                    key.empty() ? " (an empty key marks a split without labels)" : ""));
  }
  document.gold = found - labels.begin();
  document.target = std::to_string(document.gold);
  return document;
}

}  // namespace natsl::tasks
