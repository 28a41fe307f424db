#include "evaluators/request_plan.h"

#include <fmt/format.h>

#include "core/cast.h"
#include "core/error.h"
#include "core/hash.h"
#include "core/threads.h"

namespace natsl::evaluators {
namespace {

/// Length-prefixed, so that two different lists of strings never give one text.
void AppendField(std::string& out, std::string_view field) {
  out += fmt::format("{}:", field.size());
  out += field;
}

struct KeyWriter {
  std::string operator()(const tasks::LoglikelihoodRequest& request) const {
    std::string key = "L";
    AppendField(key, request.context);
    AppendField(key, request.continuation);
    return key;
  }
  std::string operator()(const tasks::RollingRequest& request) const {
    std::string key = "R";
    AppendField(key, request.text);
    AppendField(key, request.max_length ? fmt::format("{}", *request.max_length) : "");
    AppendField(key, request.whole_windows ? fmt::format("{}", *request.whole_windows) : "");
    for (const std::string& text : request.packed) AppendField(key, text);
    return key;
  }
  std::string operator()(const tasks::GenerateRequest& request) const {
    std::string key = "G";
    AppendField(key, request.prompt);
    for (const std::string& stop : request.stop) AppendField(key, stop);
    const model_adapters::Sampling& sampling = request.sampling;
    key += fmt::format("|{}|{}|{}|{}|{}|", request.max_new_tokens, sampling.temperature,
                       sampling.top_k, sampling.top_p, sampling.seed);
    if (request.middle_truncate_to) key += fmt::format("{}", *request.middle_truncate_to);
    return key;
  }
};

}  // namespace

std::string RequestKey(const tasks::Request& request) { return std::visit(KeyWriter{}, request); }

std::string Asker(const RequestPlan& plan, const std::vector<SelectedTask>& tasks,
                  RequestSlot slot) {
  const auto t = static_cast<size_t>(
      plan.owner[static_cast<size_t>(slot.kind)][static_cast<size_t>(slot.index)]);
  for (size_t document = 0; document < plan.slots[t].size(); ++document) {
    const std::vector<RequestSlot>& slots = plan.slots[t][document];
    for (size_t i = 0; i < slots.size(); ++i) {
      if (slots[i].kind != slot.kind || slots[i].index != slot.index) continue;
      return fmt::format("task {}, document {}, request {}", tasks[t].name,
                         tasks[t].task->Requests(tasks[t].documents[document]).id, i);
    }
  }
  throw InternalError("no document asks for {} request {}", Name(slot.kind), slot.index);
}

int64_t RequestPlan::size() const {
  return core::Size(loglikelihood) + core::Size(rolling) + core::Size(generate);
}

RequestPlan BuildRequestPlan(const std::vector<SelectedTask>& tasks, int threads) {
  RequestPlan plan;
  core::Sha256 hash;
  plan.slots.resize(tasks.size());
  for (size_t t = 0; t < tasks.size(); ++t) {
    const SelectedTask& selected = tasks[t];
    const int64_t count = core::Size(selected.documents);
    std::vector<std::vector<tasks::Request>> built(selected.documents.size());
    core::ParallelFor(count, threads, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const auto at = static_cast<size_t>(i);
        InContext("task " + selected.name,
                  [&] { built[at] = selected.task->Requests(selected.documents[at]).requests; });
      }
    });
    core::Sha256 own_hash;
    plan.slots[t].resize(selected.documents.size());
    for (size_t i = 0; i < built.size(); ++i) {
      for (tasks::Request& request : built[i]) {
        const std::string key = RequestKey(request);
        hash.Update(key);
        own_hash.Update(key);
        const RequestKind kind = KindOf(request);
        int64_t index = 0;
        if (auto* loglikelihood = std::get_if<tasks::LoglikelihoodRequest>(&request)) {
          index = core::Size(plan.loglikelihood);
          plan.loglikelihood.push_back(std::move(*loglikelihood));
        } else if (auto* rolling = std::get_if<tasks::RollingRequest>(&request)) {
          index = core::Size(plan.rolling);
          plan.rolling.push_back(std::move(*rolling));
        } else {
          index = core::Size(plan.generate);
          plan.generate.push_back(std::move(std::get<tasks::GenerateRequest>(request)));
        }
        plan.slots[t][i].push_back({kind, index});
        plan.owner[static_cast<size_t>(kind)].push_back(static_cast<int32_t>(t));
      }
    }
    plan.task_fingerprints.push_back(own_hash.Hex());
  }
  plan.fingerprint = hash.Hex();
  return plan;
}

}  // namespace natsl::evaluators
