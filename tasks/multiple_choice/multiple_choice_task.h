// Tasks that choose among continuations by their log-probability: the common part.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tasks/document_set.h"
#include "tasks/task.h"

namespace natsl::core {
class JsonObject;
}

namespace natsl::tasks {

/// A document as strings. One context for all choices, or one a choice (WinoGrande). A request's
/// continuation is " " + choice; lengths are taken of the choice alone.
struct Choices {
  std::vector<std::string> contexts;
  std::vector<std::string> choices;
  int64_t gold = 0;
  std::string target;  ///< as the reference logs it
};

struct MultipleChoiceSpec {
  TaskCard card;
  DatasetLayout layout;
  /// Renders a record in the protocol's columns. Throws Error (data) with the record's `where`.
  std::function<Choices(const core::JsonObject&)> render;
};

std::unique_ptr<Task> LoadMultipleChoice(const MultipleChoiceSpec& spec, const DataSource& data,
                                         const TaskOptions& options);

/// The card's fields that all tasks here share.
TaskCard MultipleChoiceCard(std::string name, std::string summary, std::string dataset,
                            std::string split, std::string version, std::string licence,
                            std::string few_shot, bool with_acc_norm);

}  // namespace natsl::tasks
