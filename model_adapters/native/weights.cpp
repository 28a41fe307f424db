// Checkpoint weights as tensors over the mapping, and the conversions on the way to the layers.
#include "model_adapters/native/weights.h"

#include "core/check.h"
#include "core/error.h"
#include "kernels/gemv.h"

namespace natsl::model_adapters::native {
namespace {

at::ScalarType ScalarType(core::DType dtype) {
  switch (dtype) {
    case core::DType::kFloat32:
      return at::kFloat;
    case core::DType::kFloat16:
      return at::kHalf;
    case core::DType::kBFloat16:
      return at::kBFloat16;
    case core::DType::kFloat64:
      return at::kDouble;
    case core::DType::kInt32:
      return at::kInt;
    case core::DType::kInt64:
      return at::kLong;
  }
  throw InternalError("weights: unknown dtype");
}

class CheckpointWeights final : public WeightSource {
 public:
  explicit CheckpointWeights(std::shared_ptr<const Checkpoint> checkpoint)
      : checkpoint_(std::move(checkpoint)) {}

  bool Has(const std::string& slot) const override { return checkpoint_->Has(slot); }

  at::Tensor Load(const std::string& slot) const override {
    const WeightView view = checkpoint_->Weight(slot);
    const int64_t element = core::ByteSize(view.dtype);
    int64_t row_bytes = element;
    for (size_t i = 1; i < view.shape.size(); ++i) row_bytes *= view.shape[i];
    const auto address = reinterpret_cast<uintptr_t>(view.data);
    const bool aligned = address % static_cast<uintptr_t>(element) == 0;
    const int64_t rows = view.shape.empty() ? 1 : view.shape[0];
    // The layers never write to a weight, so the mapping's constness is kept in fact.
    auto* data = const_cast<std::byte*>(view.data);
    if (aligned && (rows <= 1 || view.row_stride_bytes == row_bytes)) {
      return at::from_blob(data, view.shape, at::TensorOptions(ScalarType(view.dtype)));
    }
    at::Tensor copy = at::empty(view.shape, at::TensorOptions(ScalarType(view.dtype)));
    auto* target = static_cast<std::byte*>(copy.data_ptr());
    for (int64_t r = 0; r < rows; ++r) {
      std::memcpy(target + r * row_bytes, view.data + r * view.row_stride_bytes,
                  static_cast<size_t>(row_bytes));
    }
    return copy;
  }

 private:
  std::shared_ptr<const Checkpoint> checkpoint_;
};

}  // namespace

std::unique_ptr<WeightSource> MakeCheckpointWeights(std::shared_ptr<const Checkpoint> checkpoint) {
  return std::make_unique<CheckpointWeights>(std::move(checkpoint));
}

at::Tensor WeightLoader::Matrix(const std::string& slot) const {
  return source_.Load(slot).to(ScalarType(dtype_)).contiguous();
}

at::Tensor WeightLoader::Small(const std::string& slot, bool optional) const {
  if (optional && !source_.Has(slot)) return {};
  return source_.Load(slot).to(ScalarType(dtype_)).to(at::kFloat).contiguous();
}

}  // namespace natsl::model_adapters::native
