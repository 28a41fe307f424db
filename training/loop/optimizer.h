// AdamW over one flat buffer that holds every parameter: a dozen kernels a step whatever the
// model's depth, all on the device, without a look at any value (so a step can be recorded).
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>
#include <vector>

#include "training/loop/schedule.h"

namespace natsl::training {

struct AdamWOptions {
  double beta1 = 0.9, beta2 = 0.95, eps = 1e-8;
  double weight_decay = 0.1;  ///< of matrices alone
  double clip = 1;            ///< largest norm of all gradients together; 0: none
};

class AdamW {
 public:
  /// Moves the storage of `parameters` (float32, one device, leaves) into the flat buffer; they
  /// stay the same tensors for whoever holds them. Order: by name.
  AdamW(const std::map<std::string, at::Tensor>& parameters, const AdamWOptions& options,
        const ScheduleOptions& schedule);

  /// The parameters in the buffer's order.
  const std::vector<at::Tensor>& parameters() const { return parameters_; }
  int64_t size() const { return flat_.numel(); }

  /// One step down `gradient` (flat, float32): clip, moments, bias correction, decay, update, each
  /// with the rate of the step's number, which then rises.
  void Step(const at::Tensor& gradient);

  /// Norm of the last gradient before clipping, a scalar on the device.
  const at::Tensor& gradient_norm() const { return norm_; }

  /// State for checkpoints: flat parameters, both moments, the step number ([1], int64).
  std::map<std::string, at::Tensor> State() const;
  /// Copies a State() back. Throws Error (data) where a size differs.
  void Load(const std::map<std::string, at::Tensor>& state);

 private:
  AdamWOptions options_;
  std::vector<at::Tensor> parameters_;
  at::Tensor flat_, first_, second_, decay_, step_, norm_;
  at::Tensor table_;  ///< [steps, 3]: rate, 1 / (1 - beta1^t), 1 / sqrt(1 - beta2^t)
};

}  // namespace natsl::training
