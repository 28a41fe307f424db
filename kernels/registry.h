// The table of kernels: what `natsl-bench list kernels` shows.
#pragma once

#include <string_view>
#include <vector>

namespace natsl::kernels {

struct KernelEntry {
  std::string_view name;     ///< of its header: kernels/<name>.h, or of an op inside it
  std::string_view summary;  ///< one line
  std::vector<std::string_view> back_ends;  ///< of "reference", "cpu", "cuda"
};

/// Every kernel, by name.
const std::vector<KernelEntry>& Kernels();

}  // namespace natsl::kernels
