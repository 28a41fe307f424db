// Sums what NAtS-L heads chose over the answers of a task or a run.
#pragma once

#include <vector>

#include "evaluators/execute.h"
#include "evaluators/request_plan.h"
#include "reports/run_record.h"

namespace natsl::evaluators {

/// Of one task; `slots` as RequestPlan has them. Requests that failed or were skipped don't count.
reports::SoftmaxUse CountSoftmax(const std::vector<reports::NatsLayerRecord>& layers,
                                 const std::vector<std::vector<RequestSlot>>& slots,
                                 const Answers& answers);
/// Of all tasks together.
reports::SoftmaxUse SumSoftmax(const std::vector<reports::TaskRecord>& tasks);

}  // namespace natsl::evaluators
