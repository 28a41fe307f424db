// SQuAD's published file layout, versions 1.1 and 2.0, as records of questions.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

namespace natsl::core {
class JsonObject;
}

namespace natsl::tasks {

/// {id, title, context, question, answers: {text: [], answer_start: []}} of each question of a file
/// {data: [{title, paragraphs: [{context, qas: [...]}]}]}, or of a record that is one already.
std::vector<nlohmann::ordered_json> SquadQuestions(const core::JsonObject& record);

}  // namespace natsl::tasks
