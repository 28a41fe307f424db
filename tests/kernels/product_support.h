// A random product x W^T with guarded output, for the tests of gemv and matmul.
#pragma once

#include <bit>

#include "kernels/gemv.h"
#include "tests/kernels/dense_support.h"

namespace natsl::kernels::testing {

inline std::vector<uint16_t> ToBFloat16(const Floats& values) {
  std::vector<uint16_t> result;
  for (const float value : values) {
    result.push_back(static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16));
  }
  return result;
}

/// Random finite halves, every exponent below 2^4 and the subnormals included.
inline std::vector<uint16_t> Halves(Random& random, int64_t count) {
  std::vector<uint16_t> result;
  for (int64_t i = 0; i < count; ++i) {
    const auto sign = static_cast<uint32_t>(random.Uniform(0, 2)) << 15;
    const auto rest = static_cast<uint32_t>(random.Uniform(0, static_cast<float>(19 << 10)));
    result.push_back(static_cast<uint16_t>(sign | rest));
  }
  return result;
}

struct Product {
  Product(Random& random, int64_t m, int64_t n, int64_t k, DType dtype, bool with_bias)
      : x(Matrix::Normals(random, m, k, 3)), y(m, n, 5), bias(random.Normals(n)) {
    args.m = m;
    args.n = n;
    args.k = k;
    args.weight_dtype = dtype;
    if (dtype == DType::kFloat32) {
      floats = random.Normals(n * k);
      args.weight = floats.data();
    } else {
      halves =
          dtype == DType::kBFloat16 ? ToBFloat16(random.Normals(n * k)) : Halves(random, n * k);
      args.weight = halves.data();
    }
    args.x = x.data();
    args.x_stride = x.stride();
    args.y = y.data();
    args.y_stride = y.stride();
    if (with_bias) args.bias = bias.data();
  }

  Matrix x, y;
  Floats bias, floats;
  std::vector<uint16_t> halves;
  GemvArgs args;
};

}  // namespace natsl::kernels::testing
