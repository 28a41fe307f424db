// What this program was built of: values that CMake knew, written into build_info.cpp.
#pragma once

#include <string>
#include <vector>

namespace natsl::core {

struct BuildInfo {
  std::string version;        ///< "0.1.0"
  std::string compiler;       ///< "GNU 12.2.0"
  std::string build_type;     ///< "Release"
  std::string libtorch;       ///< version of LibTorch's headers
  std::string arrow;          ///< "" where there is no Parquet reader
  std::string sentencepiece;  ///< as its package says
  std::string highway;        ///< as its package says
  std::string mpi;            ///< of the standard; "" where runs are one process
  std::string cuda_toolkit;   ///< "" without the CUDA back-end
  std::vector<std::string> cuda_architectures;
};

const BuildInfo& ThisBuild();

}  // namespace natsl::core
