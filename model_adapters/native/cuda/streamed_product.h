// The few-row product of bfloat16 on Hopper: see streamed_product.cu.
#pragma once

#include "model_adapters/native/cuda/skinny_product.h"

namespace natsl::model_adapters::native::cuda {

/// Of arguments that SkinnyFits takes: whether this form is there and the faster one.
bool StreamedFits(const SkinnyProductArgs& args);
void RunStreamedProduct(const SkinnyProductArgs& args, cudaStream_t stream);

}  // namespace natsl::model_adapters::native::cuda
