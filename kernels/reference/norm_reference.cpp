// The definition of the norms: argument checks and plain double-precision loops.
#include <cmath>
#include <vector>

#include "kernels/norm.h"
#include "kernels/require.h"

namespace natsl::kernels {
namespace {

double Silu(double x) { return x / (1.0 + std::exp(-x)); }

double SumOfSquares(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return sum;
}

/// Replaces the values of one group by their norm, before weight and bias.
void Normalise(NormOp op, double eps, std::vector<double>& values) {
  const double width = static_cast<double>(values.size());
  double shift = 0;
  double divisor = 1;
  switch (op) {
    case NormOp::kRms:
    case NormOp::kRmsOnePlus:
      divisor = std::sqrt(SumOfSquares(values) / width + eps);
      break;
    case NormOp::kLayer: {
      for (const double value : values) shift += value / width;
      double variance = 0;
      for (const double value : values) variance += (value - shift) * (value - shift) / width;
      divisor = std::sqrt(variance + eps);
      break;
    }
    case NormOp::kL2:
      divisor = std::sqrt(SumOfSquares(values) + eps);
      break;
    case NormOp::kSum:
      divisor = 0;
      for (const double value : values) divisor += value;
      break;
  }
  for (double& value : values) value = (value - shift) / divisor;
}

}  // namespace

void Validate(const NormArgs& args) {
  Require(args.dtype == DType::kFloat32 || args.dtype == DType::kBFloat16,
          "norm: dtype is {}, expected float32 or bfloat16", core::Name(args.dtype));
  Require(args.rows >= 0, "norm: rows is {}, expected >= 0", args.rows);
  Require(args.groups >= 1, "norm: groups is {}, expected >= 1", args.groups);
  Require(args.width >= 1, "norm: width is {}, expected >= 1", args.width);
  Require(args.eps >= 0, "norm: eps is {}, expected >= 0", args.eps);
  Require(args.bias == nullptr || args.op == NormOp::kLayer,
          "norm: bias is given, expected null unless the op is kLayer");
  if (args.rows == 0) return;
  const int64_t columns = args.groups * args.width;
  Require(args.x != nullptr, "norm: x is null");
  Require(args.y != nullptr, "norm: y is null");
  const auto require_stride = [&](const char* name, int64_t stride) {
    Require(args.rows == 1 || stride >= columns, "norm: {} is {}, expected >= groups * width = {}",
            name, stride, columns);
  };
  require_stride("x_stride", args.x_stride);
  require_stride("y_stride", args.y_stride);
  if (args.residual != nullptr) require_stride("residual_stride", args.residual_stride);
  if (args.gate != nullptr) require_stride("gate_stride", args.gate_stride);
}

void RunNormReference(const NormArgs& args) {
  const auto* x = static_cast<const float*>(args.x);
  const auto* residual = static_cast<const float*>(args.residual);
  const auto* gate = static_cast<const float*>(args.gate);
  auto* sum = static_cast<float*>(args.sum);
  auto* y = static_cast<float*>(args.y);
  const int64_t columns = args.groups * args.width;
  std::vector<double> values(static_cast<size_t>(args.width));
  for (int64_t row = 0; row < args.rows; ++row) {
    for (int64_t group = 0; group < args.groups; ++group) {
      const auto gate_factor = [&](int64_t i) {
        return Silu(gate[row * args.gate_stride + group * args.width + i]);
      };
      for (int64_t i = 0; i < args.width; ++i) {
        const int64_t column = group * args.width + i;
        double value = x[row * args.x_stride + column];
        if (residual != nullptr) value += residual[row * args.residual_stride + column];
        if (sum != nullptr) sum[row * columns + column] = static_cast<float>(value);
        if (gate != nullptr && args.gate_order == GateOrder::kGateFirst) value *= gate_factor(i);
        values[static_cast<size_t>(i)] = value;
      }
      Normalise(args.op, args.eps, values);
      for (int64_t i = 0; i < args.width; ++i) {
        double value = values[static_cast<size_t>(i)];
        const int64_t parameter = args.weight_per_group ? group * args.width + i : i;
        if (args.weight != nullptr) {
          value *= args.weight[parameter] + (args.op == NormOp::kRmsOnePlus ? 1.0 : 0.0);
        }
        if (args.bias != nullptr) value += args.bias[parameter];
        if (gate != nullptr && args.gate_order == GateOrder::kNormFirst) value *= gate_factor(i);
        y[row * args.y_stride + group * args.width + i] = static_cast<float>(value * args.scale);
      }
    }
  }
}

void Validate(const MergeNormArgs& args) {
  Require(args.dtype == DType::kFloat32 || args.dtype == DType::kBFloat16,
          "merge norm: dtype is {}, expected float32 or bfloat16", core::Name(args.dtype));
  Require(args.rows >= 0, "merge norm: rows is {}, expected >= 0", args.rows);
  Require(args.groups >= 1, "merge norm: groups is {}, expected >= 1", args.groups);
  Require(args.width >= 1, "merge norm: width is {}, expected >= 1", args.width);
  Require(args.eps >= 0, "merge norm: eps is {}, expected >= 0", args.eps);
  if (args.rows == 0) return;
  const auto require_pointer = [](const char* name, const void* pointer) {
    Require(pointer != nullptr, "merge norm: {} is null", name);
  };
  require_pointer("delta", args.delta);
  require_pointer("attention", args.attention);
  require_pointer("gate", args.gate);
  require_pointer("mix", args.mix);
  require_pointer("delta_weight", args.delta_weight);
  require_pointer("attention_weight", args.attention_weight);
  require_pointer("y", args.y);
  Require(args.rows == 1 || args.gate_stride >= args.groups * args.width,
          "merge norm: gate_stride is {}, expected >= groups * width = {}", args.gate_stride,
          args.groups * args.width);
}

void RunMergeNormReference(const MergeNormArgs& args) {
  const auto* gate = static_cast<const float*>(args.gate);
  auto* y = static_cast<float*>(args.y);
  std::vector<double> delta(static_cast<size_t>(args.width));
  std::vector<double> attention(static_cast<size_t>(args.width));
  for (int64_t row = 0; row < args.rows; ++row) {
    for (int64_t group = 0; group < args.groups; ++group) {
      const int64_t slot = row * args.groups + group;
      const int64_t start = slot * args.width;
      const auto* delta_values = static_cast<const float*>(args.delta) + start;
      const auto* attention_values = static_cast<const float*>(args.attention) + start;
      delta.assign(delta_values, delta_values + args.width);
      attention.assign(attention_values, attention_values + args.width);
      Normalise(NormOp::kRms, args.eps, delta);
      Normalise(NormOp::kRms, args.eps, attention);
      for (int64_t i = 0; i < args.width; ++i) {
        const auto index = static_cast<size_t>(i);
        const double mixed = args.mix[slot * 2] * delta[index] * args.delta_weight[i] +
                             args.mix[slot * 2 + 1] * attention[index] * args.attention_weight[i];
        y[start + i] =
            static_cast<float>(mixed * Silu(gate[row * args.gate_stride + group * args.width + i]));
      }
    }
  }
}

}  // namespace natsl::kernels
