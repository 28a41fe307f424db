// What Validate() of the recurrent mixers has in common: each check throws natsl::Error (internal)
// that names the operation and the argument.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/error.h"
#include "kernels/common.h"

namespace natsl::kernels {

class MixerChecks {
 public:
  explicit MixerChecks(std::string_view op) : op_(op) {}

  void Pointer(const void* pointer, std::string_view name) const {
    if (pointer == nullptr) throw InternalError("{}: {} is null", op_, name);
  }

  void Positive(int64_t value, std::string_view name) const {
    if (value <= 0) throw InternalError("{}: {} is {}, expected at least 1", op_, name, value);
  }

  /// `value` divides `whole` (head counts).
  void Divides(int64_t value, std::string_view name, int64_t whole,
               std::string_view whole_name) const {
    Positive(value, name);
    if (whole % value != 0) {
      throw InternalError("{}: {} is {}, expected a divisor of {} ({})", op_, name, value,
                          whole_name, whole);
    }
  }

  void RowStride(int64_t stride, std::string_view name, int64_t row) const {
    if (stride < row) {
      throw InternalError("{}: {} is {}, expected at least the row's {} elements", op_, name,
                          stride, row);
    }
  }

  void ActivationType(DType dtype) const {
    if (dtype != DType::kFloat32 && dtype != DType::kBFloat16) {
      throw InternalError("{}: dtype is {}, expected float32 or bfloat16", op_, core::Name(dtype));
    }
  }

  /// Offsets don't fall and every sequence with rows has a state. Returns whether there is any row.
  bool Sequences(const int64_t* offsets, int64_t sequences, float* const* states) const {
    if (sequences < 0) throw InternalError("{}: sequences is {}", op_, sequences);
    if (sequences == 0) return false;
    Pointer(offsets, "offsets");
    if (offsets[0] < 0) throw InternalError("{}: offsets[0] is {}", op_, offsets[0]);
    bool any = false;
    for (int64_t s = 0; s < sequences; ++s) {
      if (offsets[s + 1] < offsets[s]) {
        throw InternalError("{}: offsets[{}] is {}, below offsets[{}] = {}", op_, s + 1,
                            offsets[s + 1], s, offsets[s]);
      }
      if (offsets[s + 1] == offsets[s]) continue;
      any = true;
      Pointer(states, "states");
      if (states[s] == nullptr) throw InternalError("{}: states[{}] is null", op_, s);
    }
    return any;
  }

 private:
  std::string_view op_;
};

}  // namespace natsl::kernels
