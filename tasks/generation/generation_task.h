// Tasks whose answer is generated text: the common part. A task is a spec: where its records come
// from, how one is asked, and how its answer is scored.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tasks/document_set.h"
#include "tasks/registry.h"
#include "tasks/task.h"

namespace natsl::core {
class JsonObject;
}

namespace natsl::tasks {

/// A record as strings.
struct GenerationDocument {
  std::string context;                          ///< what is asked, without examples
  std::string shown;                            ///< its answer where it is a few-shot example
  std::string target;                           ///< as the reference logs it
  std::vector<std::string> references;          ///< accepted answers
  std::vector<std::vector<std::string>> golds;  ///< accepted answers of several spans (DROP)
  bool stand_in = false;                        ///< not of the protocol's own dataset
};

struct GenerationSpec {
  TaskCard card;
  DatasetLayout layout;
  std::string description;             ///< in front of everything
  std::string target_delimiter = " ";  ///< between an example and its answer
  std::string example_delimiter = "\n\n";
  std::vector<std::string> stop;
  int64_t max_new_tokens = 256;
  bool strips_response = false;  ///< the filter remove_whitespace
  /// A continuation whose log-probability is asked for as the second request; "" none.
  std::string also_scores;
  /// Renders a record in the protocol's columns. Throws Error (data) with the record's `where`.
  std::function<GenerationDocument(const core::JsonObject&)> render;
  /// Metrics of a document. `log_prob`: of `also_scores`, else 0.
  std::function<std::vector<SampleMetric>(const GenerationDocument&, const std::string& response,
                                          double log_prob)>
      score;
  /// Further warnings about the loaded documents; may be empty.
  std::function<std::vector<std::string>(const std::vector<GenerationDocument>&)> warn;
};

std::unique_ptr<Task> LoadGeneration(const GenerationSpec& spec, const DataSource& data,
                                     const TaskOptions& options);

/// The entry of a task without parameters.
TaskEntry GenerationEntry(GenerationSpec (*spec)());

/// Every record of `set` replaced by those that `expand` makes of it (a file that is one object
/// holds many). Throws Error (data) where nothing comes out.
RecordSet ExpandRecords(
    RecordSet set,
    const std::function<std::vector<nlohmann::ordered_json>(const core::JsonObject&)>& expand);

/// The elements of a field that must be a list of objects or arrays; Error (data) otherwise.
const nlohmann::ordered_json& ListField(const core::JsonObject& object, const char* name);

}  // namespace natsl::tasks
