# Every third-party library the project links, in one place. The README's table says why each.

find_package(Threads REQUIRED)
if(NOT NATSL_FUZZ)  # clang needs a library of its own for it
  find_package(OpenMP REQUIRED COMPONENTS CXX)
  # libgomp by the compiler's flag: by its path, CMake would weigh the compiler's folder against
  # LibTorch's, which holds a libgomp too, and warn of the run path of all that links both. The
  # program itself links the system's, and the first one that a process loads is the only one.
  set_target_properties(OpenMP::OpenMP_CXX PROPERTIES INTERFACE_LINK_LIBRARIES ""
    INTERFACE_LINK_OPTIONS "${OpenMP_CXX_FLAGS}")
endif()
find_package(nlohmann_json 3.10 REQUIRED)
find_package(fmt REQUIRED)
find_package(CLI11 REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(ICU REQUIRED COMPONENTS uc i18n)
find_package(SQLite3 REQUIRED)
find_package(ZLIB REQUIRED)
find_package(CURL 7.85 REQUIRED)
find_package(LibArchive 3.4 REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(RE2 REQUIRED IMPORTED_TARGET re2)
pkg_check_modules(SENTENCEPIECE REQUIRED IMPORTED_TARGET sentencepiece)
pkg_check_modules(HWY REQUIRED IMPORTED_TARGET libhwy)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
# re2's -pthread would only define _REENTRANT, with which the precompiled headers aren't used.
set_property(TARGET PkgConfig::RE2 PROPERTY INTERFACE_COMPILE_OPTIONS "")
if(NATSL_TESTS)
  find_package(GTest REQUIRED)
  include(GoogleTest)
endif()
if(NATSL_BENCHMARKS)
  find_package(benchmark REQUIRED)
endif()
# Optional: runs over several processes. Only the C interface is used.
option(NATSL_MPI "Build natsl_mpi where MPI is installed" ON)
if(NATSL_MPI)
  set(MPI_CXX_SKIP_MPICXX ON)
  find_package(MPI QUIET COMPONENTS CXX)
endif()
if(NOT NATSL_FUZZ)
  include(LibTorch)
endif()
include(Arrow)
