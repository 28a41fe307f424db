// How a model without a plan of its own is split over processes: runs of requests of equal cost.
#include "model_adapters/token_model.h"

#include "core/cast.h"

namespace natsl::model_adapters {
namespace {

template <typename Request, typename Cost>
std::vector<int> SplitRuns(std::span<const Request> requests, int parts, Cost cost) {
  int64_t total = 0;
  for (const Request& request : requests) total += cost(request);
  std::vector<int> part;
  int64_t before = 0;
  for (const Request& request : requests) {
    part.push_back(total == 0 ? 0 : static_cast<int>(before * parts / total));
    before += cost(request);
  }
  return part;
}

}  // namespace

std::vector<int> TokenModel::Split(std::span<const TokenScoreRequest> requests, int parts) const {
  return SplitRuns(requests, parts,
                   [](const TokenScoreRequest& request) { return core::Size(request.ids); });
}

std::vector<int> TokenModel::Split(std::span<const TokenGenerateRequest> requests,
                                   int parts) const {
  return SplitRuns(requests, parts, [](const TokenGenerateRequest& request) {
    return core::Size(request.prompt) + request.max_new_tokens;
  });
}

}  // namespace natsl::model_adapters
