#include "evaluators/softmax_use.h"

#include "core/cast.h"
#include "core/error.h"

namespace natsl::evaluators {
namespace {

constexpr const char* kUntold =
    "the version that stored the answers doesn't tell what each head chose";

struct Counted {
  const model_adapters::ResultBase& base;
  bool read;  ///< the model read something for it
};

Counted At(const Answers& answers, RequestSlot slot) {
  const auto index = static_cast<size_t>(slot.index);
  switch (slot.kind) {
    case RequestKind::kLoglikelihood:
      return {answers.loglikelihood[index], answers.loglikelihood[index].output_tokens > 0};
    case RequestKind::kRolling:
      return {answers.rolling[index], answers.rolling[index].output_tokens > 0};
    case RequestKind::kGenerate:
      return {answers.generate[index], answers.generate[index].context_tokens > 0};
  }
  throw InternalError("unknown request kind");
}

void Add(const model_adapters::SoftmaxCounts& counts, reports::SoftmaxUse& use) {
  size_t head = 0;
  for (reports::SoftmaxUse::Layer& layer : use.layers) {
    for (int64_t& softmax : layer.softmax_chunks) {
      softmax += head < counts.by_head.size() ? counts.by_head[head] : 0;
      ++head;
    }
  }
  if (head != counts.by_head.size()) {
    throw DataError("an answer tells what {} NAtS-L heads chose, of a model that has {}",
                    counts.by_head.size(), head);
  }
  use.chunks += counts.chunks;
}

}  // namespace

reports::SoftmaxUse CountSoftmax(const std::vector<reports::NatsLayerRecord>& layers,
                                 const std::vector<std::vector<RequestSlot>>& slots,
                                 const Answers& answers) {
  reports::SoftmaxUse use;
  if (layers.empty()) return use;
  for (const reports::NatsLayerRecord& layer : layers) {
    use.layers.push_back({layer.layer, std::vector<int64_t>(static_cast<size_t>(layer.heads), 0)});
  }
  for (const std::vector<RequestSlot>& document : slots) {
    for (const RequestSlot slot : document) {
      const Counted request = At(answers, slot);
      if (request.base.error || request.base.skipped || !request.read) continue;
      if (request.base.softmax.by_head.empty()) return {.reason = kUntold};
      Add(request.base.softmax, use);
    }
  }
  return use;
}

reports::SoftmaxUse SumSoftmax(const std::vector<reports::TaskRecord>& tasks) {
  reports::SoftmaxUse sum;
  for (const reports::TaskRecord& task : tasks) {
    const reports::SoftmaxUse& use = task.softmax;
    if (!use.reason.empty()) return {.reason = use.reason};
    if (sum.layers.empty()) {
      sum = use;
      continue;
    }
    sum.chunks += use.chunks;
    for (size_t l = 0; l < sum.layers.size(); ++l) {
      for (size_t h = 0; h < sum.layers[l].softmax_chunks.size(); ++h) {
        sum.layers[l].softmax_chunks[h] += use.layers[l].softmax_chunks[h];
      }
    }
  }
  return sum;
}

}  // namespace natsl::evaluators
