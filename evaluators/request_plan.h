// All requests of a run in one deterministic order: task by task, document by document. The model
// gets one call a request kind with everything, so that it can plan over the whole.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "tasks/task.h"

namespace natsl::evaluators {

/// A task and the documents of it that are evaluated, ascending.
struct SelectedTask {
  std::string name;
  std::unique_ptr<tasks::Task> task;
  std::vector<int64_t> documents;
  std::string subset;  ///< how they were chosen, for people; "": all
  int64_t num_fewshot = 0;
  /// Ids that the model reads for the first request, for the record; empty where it has none.
  std::vector<int32_t> first_request_ids;
};

enum class RequestKind { kLoglikelihood, kRolling, kGenerate };
inline constexpr int kRequestKinds = 3;
constexpr const char* Name(RequestKind kind) {
  return kind == RequestKind::kLoglikelihood ? "loglikelihood"
         : kind == RequestKind::kRolling     ? "loglikelihood_rolling"
                                             : "generate_until";
}
inline RequestKind KindOf(const tasks::Request& request) {
  return static_cast<RequestKind>(request.index());
}

/// Where a request of a document went: its kind and its index among those of the kind.
struct RequestSlot {
  RequestKind kind;
  int64_t index;
};

struct RequestPlan {
  std::vector<tasks::LoglikelihoodRequest> loglikelihood;
  std::vector<tasks::RollingRequest> rolling;
  std::vector<tasks::GenerateRequest> generate;
  /// [task][document] → slots of its requests.
  std::vector<std::vector<std::vector<RequestSlot>>> slots;
  /// For each kind, [index] → task that asks.
  std::array<std::vector<int32_t>, kRequestKinds> owner;
  std::string fingerprint;                     ///< SHA-256 over every request in order
  std::vector<std::string> task_fingerprints;  ///< the same of each task's own requests

  int64_t size() const;
};

/// Builds the requests of all selected documents on `threads` threads (0: all cores). The result
/// doesn't depend on their number.
RequestPlan BuildRequestPlan(const std::vector<SelectedTask>& tasks, int threads);

/// "task piqa, document 12, request 1": who asks for a request, for messages.
std::string Asker(const RequestPlan& plan, const std::vector<SelectedTask>& tasks,
                  RequestSlot slot);

/// Canonical text of a request: equal exactly where the model is asked the same.
std::string RequestKey(const tasks::Request& request);

}  // namespace natsl::evaluators
