// Exact widening of one 16-bit or 32-bit float, bit by bit: what the references read weights with.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "kernels/common.h"

namespace natsl::kernels {

inline float WidenBFloat16(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

inline float WidenFloat16(uint16_t bits) {
  const float sign = (bits & 0x8000U) != 0 ? -1.0F : 1.0F;
  const int exponent = (bits >> 10) & 0x1F;
  const int mantissa = bits & 0x3FF;
  if (exponent == 0x1F) {
    return mantissa == 0 ? sign * std::numeric_limits<float>::infinity()
                         : std::numeric_limits<float>::quiet_NaN();
  }
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(mantissa), -24);
  return sign * std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25);
}

/// Element `index` of an array of kFloat32, kBFloat16 or kFloat16.
inline double WidenElement(const void* data, DType dtype, int64_t index) {
  if (dtype == DType::kFloat32) return static_cast<const float*>(data)[index];
  const uint16_t bits = static_cast<const uint16_t*>(data)[index];
  return dtype == DType::kBFloat16 ? WidenBFloat16(bits) : WidenFloat16(bits);
}

}  // namespace natsl::kernels
