// Answers all requests of a plan: from the journal and the cache where they know, else by the
// model, batch by batch, each batch made durable before the next.
#pragma once

#include <functional>
#include <vector>

#include "evaluators/journal.h"
#include "evaluators/progress.h"
#include "evaluators/request_plan.h"
#include "evaluators/response_cache.h"

namespace natsl::evaluators {

/// Where an answer came from.
enum class Origin : uint8_t { kNone, kComputed, kJournal, kCache };

struct Answers {
  std::vector<tasks::LoglikelihoodResult> loglikelihood;
  std::vector<tasks::RollingResult> rolling;
  std::vector<tasks::GenerateResult> generate;
  std::array<std::vector<Origin>, kRequestKinds> origin;
  int64_t batches = 0;
  int64_t computed_tokens = 0;
  bool complete = false;  ///< false: stopped on request

  tasks::Response At(RequestSlot slot) const;
};

class RunningScore;

struct ExecuteOptions {
  Journal* journal = nullptr;       ///< may be absent
  ResponseCache* cache = nullptr;   ///< may be absent
  Progress* progress = nullptr;     ///< may be absent
  RunningScore* running = nullptr;  ///< may be absent
  std::function<bool()> stop_requested = [] { return false; };
  /// Names who asks for a request that ends the run; may be absent.
  std::function<std::string(RequestSlot)> asker;
};

Answers Execute(const RequestPlan& plan, model_adapters::LanguageModel& model,
                const ExecuteOptions& options);

/// The answers that a journal holds, without a model; `complete` tells whether it has all.
Answers ReadAnswers(const RequestPlan& plan, Journal& journal);

}  // namespace natsl::evaluators
