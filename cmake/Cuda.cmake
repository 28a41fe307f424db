# The CUDA language, for kernels/cuda only (included with NATSL_CUDA).
#
#   NATSL_CUDA_ARCHITECTURES   what nvcc builds for: 90a-real (default: Hopper with wgmma), or others
#                              of 80 and later, e.g. "80;90a-real". Code for 80 is portable: it runs on every
#                              later card, without Hopper's fast paths.
set(NATSL_CUDA_ARCHITECTURES "90a-real" CACHE STRING "CUDA architectures to build for")
set(CMAKE_CUDA_ARCHITECTURES ${NATSL_CUDA_ARCHITECTURES})
if(NOT CMAKE_CUDA_COMPILER)
  find_program(CMAKE_CUDA_COMPILER nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda
    PATH_SUFFIXES bin)
endif()
if(NOT CMAKE_CUDA_COMPILER)
  message(FATAL_ERROR "NATSL_CUDA is ON and nvcc isn't found: install the CUDA toolkit (12.4 or later), "
    "put nvcc on PATH, or configure without NATSL_CUDA")
endif()
if(CCACHE AND NOT CMAKE_CUDA_COMPILER_LAUNCHER)
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CCACHE})
endif()
enable_language(CUDA)
find_package(CUDAToolkit REQUIRED)
# CMake 3.25 doesn't know how nvcc spells C++20.
set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_FLAGS "${CMAKE_CUDA_FLAGS} --extended-lambda")
set(CMAKE_CUDA_FLAGS_RELEASE "-O3 -DNDEBUG")
