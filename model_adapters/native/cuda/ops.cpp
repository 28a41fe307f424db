// Products through LibTorch's BLAS (or our few-row kernel), norms, activations, RoPE, convolutions.
#include "model_adapters/native/cuda/ops.h"

#include <c10/cuda/CUDAStream.h>

#include "core/cast.h"
#include "core/error.h"
#include "kernels/cuda/norm.h"
#include "kernels/cuda/short_conv.h"
#include "model_adapters/native/rope_frequencies.h"

namespace natsl::model_adapters::native::cuda {
namespace {

// Parts of a fused product begin at multiples of this, so that their rows are 16-byte aligned.
constexpr int64_t kPartRows = 8;
int64_t Padding(int64_t rows) { return (kPartRows - rows % kPartRows) % kPartRows; }

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

kernels::NormArgs ArgsOf(const at::Tensor& x, const at::Tensor& y, int64_t width) {
  kernels::NormArgs args;
  args.dtype = DTypeOfTensor(x);
  args.x = x.data_ptr();
  args.x_stride = x.stride(0);
  args.y = y.data_ptr();
  args.y_stride = y.stride(0);
  args.rows = x.size(0);
  args.width = width;
  args.groups = x.size(1) / width;
  return args;
}

}  // namespace

cudaStream_t CurrentStream() { return c10::cuda::getCurrentCUDAStream().stream(); }

at::Tensor DeviceLoader::Matrix(const std::string& slot) const {
  return loader_.Matrix(slot).to(at::kCUDA);
}

at::Tensor DeviceLoader::Small(const std::string& slot, bool optional) const {
  const at::Tensor host = loader_.Small(slot, optional);
  return host.defined() ? host.to(at::kCUDA) : host;
}

Projection::Projection(const DeviceLoader& loader, const std::string& prefix,
                       const std::vector<std::string>& names) {
  std::vector<at::Tensor> weights, biases;
  int64_t rows = 0;
  bool any_bias = false;
  for (const std::string& name : names) {
    begins_.push_back(rows);
    if (name.empty()) {
      widths_.push_back(0);
      continue;
    }
    at::Tensor weight = loader.HostMatrix(prefix + name + ".weight");
    const at::Tensor bias = loader.HostSmall(prefix + name + ".bias", true);
    widths_.push_back(weight.size(0));
    const int64_t padding = names.size() > 1 ? Padding(weight.size(0)) : 0;
    rows += weight.size(0) + padding;
    any_bias = any_bias || bias.defined();
    biases.push_back(bias.defined() ? bias : at::zeros({weight.size(0)}, at::kFloat));
    if (padding > 0) {
      biases.push_back(at::zeros({padding}, at::kFloat));
      weights.push_back(std::move(weight));
      weights.push_back(at::zeros({padding, weights.back().size(1)}, weights.back().options()));
    } else {
      weights.push_back(std::move(weight));
    }
  }
  weight_ = at::cat(weights).to(at::kCUDA);
  if (any_bias) bias_ = at::cat(biases).to(ScalarTypeOf(loader.dtype())).to(at::kCUDA);
}

Projection::Projection(at::Tensor weight) : weight_(std::move(weight)) {
  begins_ = {0};
  widths_ = {weight_.size(0)};
}

SkinnyProductArgs Projection::Skinny(const at::Tensor& x) const {
  SkinnyProductArgs args;
  args.dtype = DTypeOfTensor(x);
  args.x = x.data_ptr();
  args.x_stride = x.stride(0);
  args.weight = weight_.data_ptr();
  args.bias = DataOrNull(bias_);
  args.rows = x.size(0);
  args.in = weight_.size(1);
  args.out = weight_.size(0);
  args.y_stride = args.out;
  return args;
}

at::Tensor Projection::RunSkinny(SkinnyProductArgs& args, at::ScalarType type) const {
  at::Tensor y = EmptyOn({args.rows, args.out}, type);
  args.float_output = type == at::kFloat;
  args.y = y.data_ptr();
  RunSkinnyProduct(args, CurrentStream());
  return y;
}

at::Tensor Projection::Product(const at::Tensor& x, bool wide) const {
  const at::ScalarType type = wide ? at::kFloat : x.scalar_type();
  SkinnyProductArgs skinny = Skinny(x);
  if (SkinnyFits(skinny)) return RunSkinny(skinny, type);
  if (type == x.scalar_type()) {
    return bias_.defined() ? at::addmm(bias_, x, weight_.t()) : at::mm(x, weight_.t());
  }
  at::Tensor y = at::mm(x, weight_.t(), at::kFloat);
  if (bias_.defined()) y.add_(bias_);
  return y;
}

at::Tensor Projection::Product(Hidden& h, bool wide) const {
  if (h.tensor_.defined()) return Product(h.tensor_, wide);
  SkinnyProductArgs skinny = Skinny(h.x_);
  if (!h.Describe(skinny) || !SkinnyFits(skinny)) return Product(h.tensor(), wide);
  at::Tensor sum;
  if (h.add_.defined()) {
    sum = EmptyOn({skinny.rows, skinny.in}, h.type());
    skinny.sum = sum.data_ptr();
  }
  at::Tensor y = RunSkinny(skinny, wide ? at::kFloat : h.type());
  if (sum.defined()) h.x_ = sum;
  h.add_ = at::Tensor();
  return y;
}

at::Tensor Projection::OfGated(const at::Tensor& gate, const at::Tensor& up) const {
  SkinnyProductArgs skinny = Skinny(gate);
  skinny.input = SkinnyProductArgs::Input::kGated;
  skinny.gate = up.data_ptr();
  skinny.gate_stride = up.stride(0);
  if (SkinnyFits(skinny)) return RunSkinny(skinny, gate.scalar_type());
  return (*this)(Activated(gate, kernels::cuda::Unary::kSilu, up));
}

at::Tensor Projection::OfHeadNormed(const Norm& norm, const at::Tensor& x, const at::Tensor& gate,
                                    bool gate_first) const {
  SkinnyProductArgs skinny = Skinny(x);
  skinny.input = SkinnyProductArgs::Input::kHeadNormed;
  norm.Describe(skinny);
  skinny.group = norm.group();
  skinny.gate = gate.data_ptr();
  skinny.gate_stride = gate.stride(0);
  skinny.gate_order = gate_first ? kernels::GateOrder::kGateFirst : kernels::GateOrder::kNormFirst;
  // The kernel's head norm has no mean, and one warp a group.
  const bool rms = skinny.op == kernels::NormOp::kRms && skinny.norm_bias == nullptr;
  if (rms && SkinnyFits(skinny)) return RunSkinny(skinny, x.scalar_type());
  return (*this)(norm.Gated(x, gate, gate_first));
}

bool Hidden::Describe(SkinnyProductArgs& args) const {
  if (tensor_.defined()) return false;
  args.input = SkinnyProductArgs::Input::kNormed;
  args.dtype = DTypeOfTensor(x_);
  args.x = x_.data_ptr();
  args.x_stride = x_.stride(0);
  args.rows = x_.size(0);
  args.in = x_.size(1);
  norm_.Describe(args);
  if (add_.defined()) {
    args.residual = add_.data_ptr();
    args.residual_stride = add_.stride(0);
  }
  return norm_.group() == args.in;
}

const at::Tensor& Hidden::tensor() {
  if (!tensor_.defined()) {
    tensor_ = add_.defined() ? norm_.AfterAdd(x_, add_) : norm_(x_);
    add_ = at::Tensor();
  }
  return tensor_;
}

Norm::Norm(const DeviceLoader& loader, const std::string& prefix, const NormSpec& spec,
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

void AddParameters(kernels::NormArgs& args, const NormSpec& spec, const at::Tensor& weight,
                   const at::Tensor& bias) {
  args.op = OpOf(spec.kind);
  args.weight = FloatsOrNull(weight);
  args.bias = FloatsOrNull(bias);
  args.weight_per_group = weight.defined() && weight.numel() != args.width;
  args.eps = spec.eps;
}

}  // namespace

void Norm::Describe(SkinnyProductArgs& args) const {
  args.op = OpOf(spec_.kind);
  args.norm_weight = FloatsOrNull(weight_);
  args.norm_bias = FloatsOrNull(bias_);
  args.weight_per_group = weight_.defined() && weight_.numel() != width_;
  args.eps = spec_.eps;
}

std::optional<Norm::HeadRms> Norm::AsHeadRms(int64_t width) const {
  if (spec_.kind == NormKind::kLayer || bias_.defined() || width_ != width) return std::nullopt;
  if (weight_.defined() && weight_.numel() != width) return std::nullopt;
  return HeadRms{FloatsOrNull(weight_), spec_.eps, spec_.kind == NormKind::kRmsOnePlus};
}

at::Tensor Norm::operator()(const at::Tensor& x) const {
  at::Tensor y = EmptyOn({x.size(0), x.size(1)}, x.scalar_type());
  Into(x, y);
  return y;
}

void Norm::Into(const at::Tensor& x, const at::Tensor& y) const {
  kernels::NormArgs args = ArgsOf(x, y, width_);
  AddParameters(args, spec_, weight_, bias_);
  kernels::cuda::RunNorm(args, CurrentStream());
}

at::Tensor Norm::AfterAdd(at::Tensor& x, const at::Tensor& a) const {
  at::Tensor y = EmptyOn({x.size(0), x.size(1)}, x.scalar_type());
  kernels::NormArgs args = ArgsOf(a, y, width_);
  AddParameters(args, spec_, weight_, bias_);
  args.residual = x.data_ptr();
  args.residual_stride = x.stride(0);
  args.sum = x.data_ptr();
  kernels::cuda::RunNorm(args, CurrentStream());
  return y;
}

at::Tensor Norm::Gated(const at::Tensor& x, const at::Tensor& gate, bool gate_first) const {
  at::Tensor y = EmptyOn({x.size(0), x.size(1)}, x.scalar_type());
  kernels::NormArgs args = ArgsOf(x, y, width_);
  AddParameters(args, spec_, weight_, bias_);
  args.gate = gate.data_ptr();
  args.gate_stride = gate.stride(0);
  args.gate_order = gate_first ? kernels::GateOrder::kGateFirst : kernels::GateOrder::kNormFirst;
  kernels::cuda::RunNorm(args, CurrentStream());
  return y;
}

at::Tensor SumNormalized(const at::Tensor& x, int64_t width) {
  at::Tensor y = EmptyOn({x.size(0), x.size(1)}, x.scalar_type());
  kernels::NormArgs args = ArgsOf(x, y, width);
  args.op = kernels::NormOp::kSum;
  kernels::cuda::RunNorm(args, CurrentStream());
  return y;
}

kernels::cuda::Unary UnaryOf(Activation activation) {
  using kernels::cuda::Unary;
  switch (activation) {
    case Activation::kIdentity:
      return Unary::kIdentity;
    case Activation::kSilu:
      return Unary::kSilu;
    case Activation::kRelu:
      return Unary::kRelu;
    case Activation::kSquaredRelu:
      return Unary::kSquaredRelu;
    case Activation::kSigmoid:
      return Unary::kSigmoid;
    case Activation::kLogSigmoid:
      return Unary::kLogSigmoid;
    case Activation::kGeluTanh:
      return Unary::kGeluTanh;
    case Activation::kGeluErf:
      return Unary::kGelu;
    case Activation::kEluPlusOne:
      return Unary::kEluPlusOne;
  }
  throw InternalError("activation: unknown kind");
}

void ActivateInto(const at::Tensor& x, kernels::cuda::Unary activation, const at::Tensor& factor,
                  const at::Tensor& y) {
  kernels::cuda::ActivationArgs args;
  args.activation = activation;
  args.dtype = DTypeOfTensor(x);
  args.output_dtype = DTypeOfTensor(y);
  args.x = x.data_ptr();
  args.x_stride = x.stride(0);
  if (factor.defined()) {
    args.factor = factor.data_ptr();
    args.factor_stride = factor.stride(0);
  }
  args.y = y.data_ptr();
  args.y_stride = y.stride(0);
  args.rows = x.size(0);
  args.columns = x.size(1);
  kernels::cuda::RunActivation(args, CurrentStream());
}

at::Tensor Activated(const at::Tensor& x, kernels::cuda::Unary activation,
                     const at::Tensor& factor) {
  at::Tensor y = EmptyOn({x.size(0), x.size(1)}, x.scalar_type());
  ActivateInto(x, activation, factor, y);
  return y;
}

Rope::Rope(const RopeSpec& spec) : attention_factor_(AttentionFactor(spec)) {
  const std::vector<float> frequencies = InverseFrequencies(spec);
  inverse_frequencies_ =
      at::tensor(at::ArrayRef<float>(frequencies.data(), frequencies.size()), at::kFloat)
          .to(at::kCUDA);
}

void Rope::Apply(const at::Tensor& x, int64_t head_dim, const Pass& pass) const {
  kernels::cuda::RopeArgs args;
  args.dtype = DTypeOfTensor(x);
  args.x = x.data_ptr();
  args.x_stride = x.stride(0);
  args.positions = pass.positions;
  args.inverse_frequencies = inverse_frequencies_.data_ptr<float>();
  args.attention_factor = attention_factor_;
  args.tokens = x.size(0);
  args.heads = x.size(1) / head_dim;
  args.head_dim = head_dim;
  args.dims = 2 * inverse_frequencies_.numel();
  kernels::cuda::RunRope(args, pass.stream);
}

void Rope::ApplyBoth(const at::Tensor& q, const at::Tensor& k, int64_t head_dim,
                     const Pass& pass) const {
  const char* behind = static_cast<char*>(q.data_ptr()) + q.size(1) * q.element_size();
  if (k.data_ptr() == behind && k.stride(0) == q.stride(0)) {
    const at::Tensor both =
        q.as_strided({q.size(0), q.size(1) + k.size(1)}, {q.stride(0), 1}, q.storage_offset());
    return Apply(both, head_dim, pass);
  }
  Apply(q, head_dim, pass);
  Apply(k, head_dim, pass);
}

void Rope::Describe(kernels::cuda::AttentionStepArgs& args) const {
  args.inverse_frequencies = inverse_frequencies_.data_ptr<float>();
  args.rotary_dims = 2 * inverse_frequencies_.numel();
  args.attention_factor = attention_factor_;
}

std::optional<Rope> MakeRope(const std::optional<RopeSpec>& spec) {
  if (!spec) return std::nullopt;
  return Rope(*spec);
}

ShortConv::ShortConv(const DeviceLoader& loader, const std::string& prefix,
                     const std::vector<std::string>& names, bool silu, StatePool& pool)
    : silu_(silu) {
  std::vector<at::Tensor> weights, biases;
  bool any_bias = false;
  for (const std::string& name : names) {
    at::Tensor weight = loader.HostSmall(prefix + name + ".weight");
    weight = weight.reshape({weight.size(0), -1});
    const at::Tensor bias = loader.HostSmall(prefix + name + ".bias", true);
    any_bias = any_bias || bias.defined();
    biases.push_back(bias.defined() ? bias : at::zeros({weight.size(0)}, at::kFloat));
    weights.push_back(weight);
    // The columns between the parts of a fused product hold zeros: channels like the others.
    const int64_t padding = names.size() > 1 ? Padding(weight.size(0)) : 0;
    if (padding == 0) continue;
    weights.push_back(at::zeros({padding, weight.size(1)}, at::kFloat));
    biases.push_back(at::zeros({padding}, at::kFloat));
  }
  weight_ = at::cat(weights).to(at::kCUDA);
  if (any_bias) bias_ = at::cat(biases).to(at::kCUDA);
  tails_ = pool.AddFixed(StateKind::kConvolution, (weight_.size(1) - 1) * weight_.size(0));
}

void ShortConv::Into(const at::Tensor& x, const at::Tensor& y, const Pass& pass) const {
  kernels::cuda::ShortConvArgs args;
  args.dtype = DTypeOfTensor(x);
  args.x = x.data_ptr();
  args.x_stride = x.stride(0);
  args.weight = weight_.data_ptr<float>();
  args.bias = FloatsOrNull(bias_);
  args.activation = silu_ ? kernels::ActivationKind::kSilu : kernels::ActivationKind::kIdentity;
  args.y = y.data_ptr();
  args.y_stride = y.stride(0);
  args.tails = pass.pool->fixed(tails_);
  args.slots = pass.slots;
  args.offsets = pass.offsets();
  args.sequences = pass.sequences;
  args.tokens = pass.tokens;
  args.channels = weight_.size(0);
  args.width = weight_.size(1);
  kernels::cuda::RunShortConv(args, pass.stream);
}

bool ShortConv::Describe(kernels::cuda::DeltaStepArgs& args, const Pass& pass) const {
  args.conv_weight = weight_.data_ptr<float>();
  args.conv_bias = FloatsOrNull(bias_);
  args.tails = pass.pool->fixed(tails_);
  args.channels = weight_.size(0);
  return silu_ && weight_.size(1) == 4;
}

}  // namespace natsl::model_adapters::native::cuda
