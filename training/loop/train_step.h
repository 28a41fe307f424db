// One optimizer step: loss and gradient of every micro-batch, their mean over ranks, the update.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "training/loop/device.h"
#include "training/loop/optimizer.h"
#include "training/network.h"

namespace natsl::training {

class TrainStep {
 public:
  TrainStep(const Network& network, AdamW& optimizer, TrainDevice& device, at::ScalarType dtype,
            int64_t micro_batches);

  /// `tokens`: [2, rows, context] on the device; rows a multiple of the micro-batches. Adds to the
  /// sums below. Never waits for the device.
  void Run(const at::Tensor& tokens);

  /// [3] float32 on the device: loss, softmax share (mean over layers and heads), steps, each
  /// summed since they were last set to zero.
  at::Tensor& sums() { return sums_; }
  /// The last step's share a NAtS-L layer and head; undefined without such layers.
  const at::Tensor& softmax_share() const { return share_; }

 private:
  const Network& network_;
  AdamW& optimizer_;
  TrainDevice& device_;
  at::ScalarType dtype_;
  int64_t micro_batches_;
  at::Tensor gradient_;  ///< flat, and the loss behind it
  at::Tensor sums_, share_;
};

}  // namespace natsl::training
