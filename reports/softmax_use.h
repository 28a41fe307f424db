// What NAtS-L layers chose in a run or a task, for people: shares and rows of a table.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "reports/run_record.h"

namespace natsl::reports {

/// Softmax chunks of all chunks, over all heads; missing where no sequence completes a chunk.
Number SoftmaxShare(const SoftmaxUse& use);
Number SoftmaxShare(const SoftmaxUse& use, const SoftmaxUse::Layer& layer);

/// "20.9 %", or why there is no figure.
std::string SoftmaxShareText(const SoftmaxUse& use);
/// {"softmax share (NAtS-L)", "20.9 % of 12 chunks"}, then a row a layer with its heads; empty for
/// models without such layers.
std::vector<std::pair<std::string, std::string>> SoftmaxRows(const SoftmaxUse& use);

}  // namespace natsl::reports
