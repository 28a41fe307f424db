# Imported targets for the pinned LibTorch, which scripts/setup unpacks from its wheels.
# Torch's own CMake package is not used: it demands a CUDA toolkit and overrides architectures.
#
#   natsl::torch_cpu    libtorch_cpu and libc10
#   natsl::torch_cuda   the above and libtorch_cuda (only with NATSL_CUDA)

set(NATSL_LIBTORCH "" CACHE PATH "Folder with torch/include and torch/lib (scripts/setup prints it)")
if(NOT NATSL_LIBTORCH)
  set(NATSL_LIBTORCH "$ENV{HOME}/.cache/natsl-bench/libtorch-2.11.0")
endif()
set(torch_lib ${NATSL_LIBTORCH}/torch/lib)
set(torch_include ${NATSL_LIBTORCH}/torch/include)
if(NOT EXISTS ${torch_lib}/libtorch_cpu.so)
  message(FATAL_ERROR "LibTorch not found in '${NATSL_LIBTORCH}' (expected torch/lib/libtorch_cpu.so "
                      "below it). Run scripts/setup, or pass -DNATSL_LIBTORCH=DIR.")
endif()

# Its version, which messages and natsl-bench --version --json tell.
file(STRINGS ${torch_include}/torch/headeronly/version.h version_lines
  REGEX "define TORCH_VERSION_(MAJOR|MINOR|PATCH) [0-9]+")
string(REGEX REPLACE "[^0-9;]" "" NATSL_LIBTORCH_VERSION "${version_lines}")
list(JOIN NATSL_LIBTORCH_VERSION "." NATSL_LIBTORCH_VERSION)

add_library(natsl::c10 SHARED IMPORTED GLOBAL)
set_target_properties(natsl::c10 PROPERTIES IMPORTED_LOCATION ${torch_lib}/libc10.so)
add_library(natsl::torch_cpu SHARED IMPORTED GLOBAL)
set_target_properties(natsl::torch_cpu PROPERTIES IMPORTED_LOCATION ${torch_lib}/libtorch_cpu.so)
target_link_libraries(natsl::torch_cpu INTERFACE natsl::c10)
target_link_options(natsl::torch_cpu INTERFACE -Wl,--allow-shlib-undefined)
target_include_directories(natsl::torch_cpu SYSTEM INTERFACE
  ${torch_include} ${torch_include}/torch/csrc/api/include)
# Its headers then include the operators they use, not all of them.
target_compile_definitions(natsl::torch_cpu INTERFACE AT_PER_OPERATOR_HEADERS)

# LibTorch's include folder holds a copy of fmt's headers (another version than the system's): the
# folder NATSL_FMT_FIRST, which users of LibTorch put in front, makes <fmt/...> the system's again.
get_target_property(fmt_include fmt::fmt INTERFACE_INCLUDE_DIRECTORIES)
set(NATSL_FMT_FIRST ${CMAKE_BINARY_DIR}/fmt_first)
file(MAKE_DIRECTORY ${NATSL_FMT_FIRST})
file(CREATE_LINK ${fmt_include}/fmt ${NATSL_FMT_FIRST}/fmt SYMBOLIC)

if(NATSL_CUDA)
  add_library(natsl::torch_cuda SHARED IMPORTED GLOBAL)
  set_target_properties(natsl::torch_cuda PROPERTIES IMPORTED_LOCATION ${torch_lib}/libtorch_cuda.so)
  add_library(natsl::c10_cuda SHARED IMPORTED GLOBAL)
  set_target_properties(natsl::c10_cuda PROPERTIES IMPORTED_LOCATION ${torch_lib}/libc10_cuda.so)
  target_link_libraries(natsl::torch_cuda INTERFACE natsl::torch_cpu natsl::c10_cuda)
endif()
