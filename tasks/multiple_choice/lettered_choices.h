// Questions whose answers carry labels (ARC, OpenBookQA): both published layouts as one.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tasks/multiple_choice/multiple_choice_task.h"

namespace natsl::tasks {

/// The hub's columns {id, QUESTION_COLUMN, choices: {text, label}, answerKey} from either layout:
/// the publisher's {id, question: {stem, choices: [{text, label}]}, answerKey} or the hub's own.
nlohmann::ordered_json LetteredColumns(const core::JsonObject& record,
                                       const std::string& question_column);

/// Choices and gold of a record in the hub's columns; the context is left to the caller.
/// `strip_key`: leading white space of answerKey doesn't count.
Choices LetteredChoices(const core::JsonObject& record, bool strip_key);

}  // namespace natsl::tasks
