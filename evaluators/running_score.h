// How tasks stand while a run goes on: documents are scored as their last answer comes in. For the
// progress line alone; the report's numbers are computed at the end from all answers.
#pragma once

#include <string>
#include <vector>

#include "evaluators/execute.h"
#include "evaluators/request_plan.h"

namespace natsl::evaluators {

class RunningScore {
 public:
  /// Both must outlive this.
  RunningScore(const std::vector<SelectedTask>& tasks, const RequestPlan& plan);

  /// `answers` holds the answer to `slot` from now on.
  void OnAnswer(RequestSlot slot, const Answers& answers);

  /// "piqa 60/200 documents, acc 0.6100", of the task that a document was last finished of; ""
  /// before the first.
  std::string Text() const;

 private:
  struct Standing {
    int64_t finished = 0, scored = 0;
    double sum = 0, weight = 0;
  };

  const std::vector<SelectedTask>& tasks_;
  const RequestPlan& plan_;
  std::array<std::vector<int32_t>, kRequestKinds> document_of_;  ///< [kind][request]
  std::vector<std::vector<int32_t>> open_;                       ///< [task][document] answers
  std::vector<Standing> standings_;
  size_t last_ = 0;
};

}  // namespace natsl::evaluators
