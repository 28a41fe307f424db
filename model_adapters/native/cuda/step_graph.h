// A decode step of a fixed number of sequences as a CUDA graph: ids, lengths, slots and pages are
// read on the device, so that one graph serves every step.
#pragma once

#include <memory>

#include "model_adapters/native/cuda/network.h"

namespace natsl::model_adapters::native::cuda {

class StepGraph {
 public:
  /// Steps whose ids fit the history.
  static constexpr int64_t kMostSteps = 1024;

  /// Captures; the pool's memory must have been used by a step of this size before (warm kernels).
  StepGraph(const Network& network, StatePool& pool, const ChoicePolicy& choices,
            int64_t sequences);
  ~StepGraph();

  /// Of the pool when captured; a graph of another generation is stale.
  int64_t generation() const { return generation_; }

  struct Where {
    std::vector<int64_t> positions;
    std::vector<int32_t> read, write, lists;
  };
  /// Sets all inputs; `ids` device int32 [sequences].
  void Set(const at::Tensor& ids, const Where& where);
  /// The slots that later steps start from.
  void SetRead(const std::vector<int32_t>& read);
  void Replay();
  const at::Tensor& logits() const { return logits_; }    ///< of the last step
  const at::Tensor& ids() const { return ids_; }          ///< the last step's argmax
  const at::Tensor& history() const { return history_; }  ///< rows since Set

  /// The step's body, captured or not.
  static at::Tensor Launch(const Network& network, const Pass& pass, const at::Tensor& next);

 private:
  Pass PassOf(StatePool& pool, const ChoicePolicy& choices) const;

  struct Graph;
  int64_t sequences_, generation_;
  at::Tensor ids_, positions_, read_, write_, lists_, history_, step_, logits_;
  std::unique_ptr<Graph> graph_;
};

}  // namespace natsl::model_adapters::native::cuda
