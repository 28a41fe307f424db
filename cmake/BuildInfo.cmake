# core/build_info.h's values, and the commit that `natsl-bench --version --json` tells. Included
# when all libraries are known.
set(cuda_toolkit "")
set(cuda_architectures "")
if(NATSL_CUDA)
  set(cuda_toolkit ${CUDAToolkit_VERSION})
  list(TRANSFORM NATSL_CUDA_ARCHITECTURES REPLACE "(.+)" "\"\\1\"" OUTPUT_VARIABLE cuda_architectures)
  list(JOIN cuda_architectures ", " cuda_architectures)
endif()
configure_file(${CMAKE_SOURCE_DIR}/cmake/build_info.cpp.in ${CMAKE_BINARY_DIR}/build_info.cpp @ONLY)
target_sources(natsl_core PRIVATE ${CMAKE_BINARY_DIR}/build_info.cpp)

# The commit is asked for in every build, and written only where it has changed. Only the program's
# own library has it: a new commit links nothing else anew.
set(commit_source ${CMAKE_BINARY_DIR}/commit.cpp)
add_custom_target(natsl_commit
  COMMAND ${CMAKE_COMMAND} -DSOURCE=${CMAKE_SOURCE_DIR} -DOUT=${commit_source}
          -P ${CMAKE_SOURCE_DIR}/cmake/WriteCommit.cmake
  BYPRODUCTS ${commit_source} VERBATIM)
target_sources(natsl_cli PRIVATE ${commit_source})
set_source_files_properties(${commit_source} PROPERTIES GENERATED ON SKIP_UNITY_BUILD_INCLUSION ON)
add_dependencies(natsl_cli natsl_commit)
