// Dense products, norms, activations, convolutions: thin over LibTorch and the kernels.
#include "model_adapters/native/ops.h"

#include "core/check.h"
#include "core/error.h"
#include "kernels/gemv.h"
#include "kernels/matmul.h"
#include "kernels/norm.h"
#include "kernels/rope.h"
#include "kernels/short_conv.h"
#include "model_adapters/native/rope_frequencies.h"

namespace natsl::model_adapters::native {
namespace {

// Up to here the bytes of the weight bound the product, and the BLAS is far from the memory's
// speed.
constexpr int64_t kGemvRows = 16;
// Rows of a bfloat16 weight that are widened at a time.
constexpr int64_t kPanelRows = 1024;

const float* DataOrNull(const at::Tensor& t) { return t.defined() ? t.data_ptr<float>() : nullptr; }

kernels::NormOp OpOf(NormKind kind) {
  switch (kind) {
    case NormKind::kRms:
      return kernels::NormOp::kRms;
    case NormKind::kRmsOnePlus:
      return kernels::NormOp::kRmsOnePlus;
    case NormKind::kLayer:
      return kernels::NormOp::kLayer;
  }
  throw InternalError("norm: unknown kind");
}

}  // namespace

Linear::Linear(const WeightLoader& loader, const std::string& prefix)
    : weight_(loader.Matrix(prefix + ".weight")), bias_(loader.Small(prefix + ".bias", true)) {}

at::Tensor Linear::operator()(const at::Tensor& x) const {
  const int64_t rows = x.size(0);
  const int64_t out = weight_.size(0);
  const bool wide = weight_.scalar_type() == at::kFloat;
  const bool few = rows <= kGemvRows;
  if (few || kernels::MatmulUsable()) {
    at::Tensor y = at::empty({rows, out}, at::kFloat);
    kernels::GemvArgs args;
    args.x = x.data_ptr<float>();
    args.x_stride = RowStride(x);
    args.weight = weight_.data_ptr();
    args.weight_dtype = wide ? core::DType::kFloat32 : core::DType::kBFloat16;
    args.bias = DataOrNull(bias_);
    args.y = y.data_ptr<float>();
    args.y_stride = out;
    args.m = rows;
    args.n = out;
    args.k = weight_.size(1);
    few ? kernels::RunGemvCpu(args) : kernels::RunMatmulCpu(args);
    return y;
  }
  if (wide) return bias_.defined() ? at::addmm(bias_, x, weight_.t()) : at::mm(x, weight_.t());
  at::Tensor y = at::empty({rows, out}, at::kFloat);
  for (int64_t begin = 0; begin < out; begin += kPanelRows) {
    const int64_t count = std::min(kPanelRows, out - begin);
    const at::Tensor panel = weight_.narrow(0, begin, count).to(at::kFloat);
    at::Tensor target = y.narrow(1, begin, count);
    at::mm_out(target, x, panel.t());
  }
  if (bias_.defined()) y.add_(bias_);
  return y;
}

Norm::Norm(const WeightLoader& loader, const std::string& prefix, const NormSpec& spec,
           int64_t width)
    : spec_(spec), width_(width) {
  if (spec.affine) weight_ = loader.Small(prefix + ".weight");
  if (spec.bias) bias_ = loader.Small(prefix + ".bias");
  if (width_ == 0) {
    if (!weight_.defined()) throw InternalError("norm {}: neither a weight nor a width", prefix);
    width_ = weight_.numel();
  }
}

namespace {

kernels::NormArgs ArgsOf(const at::Tensor& x, const at::Tensor& y, int64_t width) {
  kernels::NormArgs args;
  args.x = x.data_ptr<float>();
  args.x_stride = RowStride(x);
  args.y = y.data_ptr<float>();
  args.y_stride = RowStride(y);
  args.rows = x.size(0);
  args.width = width;
  args.groups = x.size(1) / width;
  return args;
}

}  // namespace

at::Tensor Norm::operator()(const at::Tensor& x) const {
  at::Tensor y = at::empty({x.size(0), x.size(1)}, at::kFloat);
  kernels::NormArgs args = ArgsOf(x, y, width_);
  args.op = OpOf(spec_.kind);
  args.weight = DataOrNull(weight_);
  args.bias = DataOrNull(bias_);
  args.weight_per_group = weight_.defined() && weight_.numel() != width_;
  args.eps = spec_.eps;
  kernels::RunNormCpu(args);
  return y;
}

void Norm::InPlace(at::Tensor& x) const {
  kernels::NormArgs args = ArgsOf(x, x, width_);
  args.op = OpOf(spec_.kind);
  args.weight = DataOrNull(weight_);
  args.bias = DataOrNull(bias_);
  args.weight_per_group = weight_.defined() && weight_.numel() != width_;
  args.eps = spec_.eps;
  kernels::RunNormCpu(args);
}

at::Tensor Norm::AfterAdd(at::Tensor& x, const at::Tensor& a) const {
  at::Tensor y = at::empty_like(x);
  kernels::NormArgs args = ArgsOf(a, y, width_);
  args.op = OpOf(spec_.kind);
  args.residual = x.data_ptr<float>();
  args.residual_stride = RowStride(x);
  args.sum = x.data_ptr<float>();
  args.weight = DataOrNull(weight_);
  args.bias = DataOrNull(bias_);
  args.eps = spec_.eps;
  kernels::RunNormCpu(args);
  return y;
}

at::Tensor Norm::Gated(const at::Tensor& x, const at::Tensor& gate, bool gate_first) const {
  at::Tensor y = at::empty({x.size(0), x.size(1)}, at::kFloat);
  kernels::NormArgs args = ArgsOf(x, y, width_);
  args.op = OpOf(spec_.kind);
  args.gate = gate.data_ptr<float>();
  args.gate_stride = RowStride(gate);
  args.gate_order = gate_first ? kernels::GateOrder::kGateFirst : kernels::GateOrder::kNormFirst;
  args.weight = DataOrNull(weight_);
  args.bias = DataOrNull(bias_);
  args.weight_per_group = weight_.defined() && weight_.numel() != width_;
  args.eps = spec_.eps;
  kernels::RunNormCpu(args);
  return y;
}

void NormalizeHeads(at::Tensor& x, int64_t width, bool l2) {
  kernels::NormArgs args = ArgsOf(x, x, width);
  args.op = l2 ? kernels::NormOp::kL2 : kernels::NormOp::kSum;
  args.eps = 1e-6;
  kernels::RunNormCpu(args);
}

void Activate(at::Tensor& x, Activation activation) {
  switch (activation) {
    case Activation::kIdentity:
      return;
    case Activation::kSilu:
      at::silu_(x);
      return;
    case Activation::kRelu:
      at::relu_(x);
      return;
    case Activation::kSquaredRelu:
      at::square_(at::relu_(x));
      return;
    case Activation::kSigmoid:
      at::sigmoid_(x);
      return;
    case Activation::kLogSigmoid: {
      at::Tensor result = at::log_sigmoid(x);
      x.copy_(result);
      return;
    }
    case Activation::kGeluTanh:
      at::gelu_(x, "tanh");
      return;
    case Activation::kGeluErf:
      at::gelu_(x, "none");
      return;
    case Activation::kEluPlusOne:
      at::elu_(x).add_(1);
      return;
  }
}

void ActivateAndMultiply(at::Tensor& gate, const at::Tensor& up, Activation activation) {
  Activate(gate, activation);
  gate.mul_(up);
}

Rope::Rope(const RopeSpec& spec)
    : inverse_frequencies_(InverseFrequencies(spec)), attention_factor_(AttentionFactor(spec)) {}

void Rope::Apply(at::Tensor& x, int64_t head_dim, const std::vector<int64_t>& positions) const {
  kernels::RopeArgs args;
  args.x = x.data_ptr<float>();
  args.x_stride = RowStride(x);
  args.positions = positions.data();
  args.inverse_frequencies = inverse_frequencies_.data();
  args.attention_factor = attention_factor_;
  args.tokens = x.size(0);
  args.heads = x.size(1) / head_dim;
  args.head_dim = head_dim;
  args.dims = 2 * static_cast<int64_t>(inverse_frequencies_.size());
  kernels::RunRopeCpu(args);
}

std::optional<Rope> MakeRope(const std::optional<RopeSpec>& spec) {
  if (!spec) return std::nullopt;
  return Rope(*spec);
}

ShortConv::ShortConv(const WeightLoader& loader, const std::string& prefix, bool silu)
    : weight_(loader.Small(prefix + ".weight")),
      bias_(loader.Small(prefix + ".bias", true)),
      silu_(silu) {
  weight_ = weight_.reshape({weight_.size(0), -1}).contiguous();
}

at::Tensor ShortConv::operator()(const at::Tensor& x, Batch& batch, int64_t layer,
                                 size_t tail) const {
  const int64_t channels = weight_.size(0);
  const int64_t width = weight_.size(1);
  std::vector<float*> tails(batch.states.size());
  for (size_t s = 0; s < tails.size(); ++s) {
    LayerState& state = batch.states[s]->layers[static_cast<size_t>(layer)];
    if (state.tails.size() <= tail) state.tails.resize(tail + 1);
    tails[s] = batch.Writable(s, state.tails[tail], (width - 1) * channels);
  }
  at::Tensor y = at::empty({x.size(0), channels}, at::kFloat);
  kernels::ShortConvArgs args;
  args.x = x.data_ptr<float>();
  args.x_stride = RowStride(x);
  args.weight = weight_.data_ptr<float>();
  args.bias = DataOrNull(bias_);
  args.activation = silu_ ? kernels::ActivationKind::kSilu : kernels::ActivationKind::kIdentity;
  args.y = y.data_ptr<float>();
  args.y_stride = channels;
  args.tails = tails.data();
  args.offsets = batch.offsets.data();
  args.sequences = batch.sequences();
  args.channels = channels;
  args.width = width;
  kernels::RunShortConvCpu(args);
  return y;
}

std::vector<float*> RecurrentStates(Batch& batch, int64_t layer, int64_t floats) {
  std::vector<float*> states(batch.states.size());
  for (size_t s = 0; s < states.size(); ++s) {
    LayerState& state = batch.states[s]->layers[static_cast<size_t>(layer)];
    states[s] = batch.Writable(s, state.recurrent, floats);
  }
  return states;
}

}  // namespace natsl::model_adapters::native
