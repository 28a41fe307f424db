// The norms on the processor: rows over all cores.
#include <cmath>
#include <vector>

#include "kernels/norm.h"

namespace natsl::kernels {
namespace {

float Silu(float x) { return x / (1.0F + std::exp(-x)); }

void NormGroup(const NormArgs& args, int64_t row, int64_t group, float* values) {
  const int64_t start = group * args.width;
  const float* x = static_cast<const float*>(args.x) + row * args.x_stride + start;
  const auto* gate = static_cast<const float*>(args.gate);
  if (gate != nullptr) gate += row * args.gate_stride + start;
  for (int64_t i = 0; i < args.width; ++i) values[i] = x[i];
  if (args.residual != nullptr) {
    const float* residual =
        static_cast<const float*>(args.residual) + row * args.residual_stride + start;
    for (int64_t i = 0; i < args.width; ++i) values[i] += residual[i];
  }
  if (args.sum != nullptr) {
    float* sum = static_cast<float*>(args.sum) + row * args.groups * args.width + start;
    for (int64_t i = 0; i < args.width; ++i) sum[i] = values[i];
  }
  if (gate != nullptr && args.gate_order == GateOrder::kGateFirst) {
    for (int64_t i = 0; i < args.width; ++i) values[i] *= Silu(gate[i]);
  }
  float shift = 0;
  float total = 0;
  const auto width = static_cast<float>(args.width);
  if (args.op == NormOp::kLayer || args.op == NormOp::kSum) {
    for (int64_t i = 0; i < args.width; ++i) total += values[i];
    if (args.op == NormOp::kLayer) shift = total / width;
  }
  float squares = 0;
  for (int64_t i = 0; i < args.width; ++i) squares += (values[i] - shift) * (values[i] - shift);
  const auto eps = static_cast<float>(args.eps);
  float factor = 1.0F / std::sqrt(squares / width + eps);
  if (args.op == NormOp::kL2) factor = 1.0F / std::sqrt(squares + eps);
  if (args.op == NormOp::kSum) factor = 1.0F / total;
  const float one = args.op == NormOp::kRmsOnePlus ? 1.0F : 0.0F;
  const int64_t parameter = args.weight_per_group ? start : 0;
  float* y = static_cast<float*>(args.y) + row * args.y_stride + start;
  for (int64_t i = 0; i < args.width; ++i) {
    float value = (values[i] - shift) * factor;
    if (args.weight != nullptr) value *= args.weight[parameter + i] + one;
    if (args.bias != nullptr) value += args.bias[parameter + i];
    if (gate != nullptr && args.gate_order == GateOrder::kNormFirst) value *= Silu(gate[i]);
    y[i] = value * static_cast<float>(args.scale);
  }
}

float InverseRms(const float* values, int64_t width, double eps) {
  float squares = 0;
  for (int64_t i = 0; i < width; ++i) squares += values[i] * values[i];
  return 1.0F / std::sqrt(squares / static_cast<float>(width) + static_cast<float>(eps));
}

}  // namespace

void RunNormCpu(const NormArgs& args) {
#pragma omp parallel
  {
    std::vector<float> values(static_cast<size_t>(args.width));
#pragma omp for schedule(static)
    for (int64_t row = 0; row < args.rows; ++row) {
      for (int64_t group = 0; group < args.groups; ++group) {
        NormGroup(args, row, group, values.data());
      }
    }
  }
}

void RunMergeNormCpu(const MergeNormArgs& args) {
#pragma omp parallel for schedule(static)
  for (int64_t slot = 0; slot < args.rows * args.groups; ++slot) {
    const float* delta = static_cast<const float*>(args.delta) + slot * args.width;
    const float* attention = static_cast<const float*>(args.attention) + slot * args.width;
    const float* gate = static_cast<const float*>(args.gate) +
                        slot / args.groups * args.gate_stride + slot % args.groups * args.width;
    float* y = static_cast<float*>(args.y) + slot * args.width;
    const float delta_factor = args.mix[slot * 2] * InverseRms(delta, args.width, args.eps);
    const float attention_factor =
        args.mix[slot * 2 + 1] * InverseRms(attention, args.width, args.eps);
    for (int64_t i = 0; i < args.width; ++i) {
      y[i] = (delta[i] * delta_factor * args.delta_weight[i] +
              attention[i] * attention_factor * args.attention_weight[i]) *
             Silu(gate[i]);
    }
  }
}

}  // namespace natsl::kernels
