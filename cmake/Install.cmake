# `cmake --install build/release --prefix DIR`, and packages by CPack (docs/installing.md). The tree
# is relocatable: the program finds its modules in ../lib/natsl-bench.
#
#   NATSL_BUNDLE_LIBTORCH   copy LibTorch's CPU libraries too (0.5 GB)
#
# LibTorch, where it isn't copied, is found where it was at build time (run path), in the folder
# that NATSL_LIBTORCH names when the program starts, or in the user's cache.
option(NATSL_BUNDLE_LIBTORCH "Install LibTorch's CPU libraries along with the program" OFF)
set(NATSL_PACKAGE_CONTACT "natsl-bench developers <root@localhost>" CACHE STRING
  "Maintainer of the packages that CPack makes")
include(GNUInstallDirs)
set(module_dir lib/natsl-bench)
set(share_dir ${CMAKE_INSTALL_DATADIR}/natsl-bench)
# Installing and packaging don't build the tests first: build the target natsl_dist.
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)

# The manual page and the completions are written by the program from its own option tables.
set(pages ${CMAKE_BINARY_DIR}/pages)
add_custom_command(
  OUTPUT ${pages}/natsl-bench.1 ${pages}/natsl-bench.bash ${pages}/_natsl-bench ${pages}/natsl-bench.fish
  COMMAND ${CMAKE_COMMAND} -E make_directory ${pages}
  COMMAND natsl-bench help --man > ${pages}/natsl-bench.1
  COMMAND natsl-bench completion bash > ${pages}/natsl-bench.bash
  COMMAND natsl-bench completion zsh > ${pages}/_natsl-bench
  COMMAND natsl-bench completion fish > ${pages}/natsl-bench.fish
  DEPENDS natsl-bench VERBATIM)
add_custom_target(natsl_dist
  DEPENDS ${pages}/natsl-bench.1 ${pages}/natsl-bench.bash ${pages}/_natsl-bench ${pages}/natsl-bench.fish)
install(FILES ${pages}/natsl-bench.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program)
install(FILES ${pages}/natsl-bench.bash RENAME natsl-bench COMPONENT program
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${pages}/_natsl-bench COMPONENT program
  DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
install(FILES ${pages}/natsl-bench.fish COMPONENT program
  DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)

# natsl_install(TARGET FOLDER COMPONENT [RUN_PATH...]): a program or module, where it is built.
function(natsl_install target folder component)
  if(NOT TARGET ${target})
    return()
  endif()
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "UTILITY")
    return()
  endif()
  set_target_properties(${target} PROPERTIES INSTALL_RPATH "${ARGN}")
  install(TARGETS ${target} RUNTIME DESTINATION ${folder} COMPONENT ${component}
    LIBRARY DESTINATION ${folder} COMPONENT ${component})
  add_dependencies(natsl_dist ${target})
endfunction()
set(beside [[$ORIGIN]])
set(libtorch_dir ${module_dir}/libtorch)
set(libtorch_paths "${beside}/libtorch/torch/lib" "${torch_lib}")
set(cuda_paths ${libtorch_paths} "${beside}/libtorch/nvidia/cu13/lib" "${NATSL_LIBTORCH}/nvidia/cu13/lib")
natsl_install(natsl-bench ${CMAKE_INSTALL_BINDIR} program)
natsl_install(natsl-train ${CMAKE_INSTALL_BINDIR} program
  "${beside}/../${libtorch_dir}/torch/lib" "${torch_lib}")
natsl_install(natsl_native ${module_dir} program ${libtorch_paths})
natsl_install(natsl_parquet ${module_dir} program "${beside}")
natsl_install(natsl_mpi ${module_dir} mpi)
natsl_install(natsl_native_cuda ${module_dir} cuda ${cuda_paths})
natsl_install(natsl_train_cuda ${module_dir} cuda ${cuda_paths})

if(TARGET natsl::arrow)
  install(FILES ${arrow_library} ${parquet_library} DESTINATION ${module_dir} COMPONENT program)
endif()
if(NATSL_BUNDLE_LIBTORCH)
  # As it is unpacked, so that its own run paths find the libraries beside it. Its libgomp stays away:
  # the program needs the system's, which is loaded first and serves LibTorch too.
  install(FILES ${torch_lib}/libtorch_cpu.so ${torch_lib}/libc10.so
    DESTINATION ${libtorch_dir}/torch/lib COMPONENT program)
  file(GLOB runtime ${NATSL_LIBTORCH}/nvidia/cu13/lib/libcudart.so.* ${NATSL_LIBTORCH}/nvidia/cu13/lib/libcupti.so.*)
  install(FILES ${runtime} DESTINATION ${libtorch_dir}/nvidia/cu13/lib COMPONENT program)
endif()

install(DIRECTORY samples checkpoints data_manifests examples DESTINATION ${share_dir} COMPONENT program
  USE_SOURCE_PERMISSIONS)
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/natsl-bench COMPONENT program
  FILES_MATCHING PATTERN "*.md")

# Packages: natsl-bench, and one each for what needs MPI or CUDA.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME natsl-bench)
set(CPACK_PACKAGE_CONTACT ${NATSL_PACKAGE_CONTACT})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Quality and speed of hybrid-attention language models")
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME natsl-bench)
set(CPACK_DEBIAN_MPI_PACKAGE_NAME natsl-bench-mpi)
set(CPACK_DEBIAN_CUDA_PACKAGE_NAME natsl-bench-cuda)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SUGGESTS "natsl-bench-mpi, bash-completion")
foreach(part MPI CUDA)
  set(CPACK_DEBIAN_${part}_PACKAGE_DEPENDS "natsl-bench (= ${PROJECT_VERSION})")
endforeach()
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION
  "Evaluates one checkpoint's quality as lm-evaluation-harness does, and its speed at long context.")
set(CPACK_COMPONENT_MPI_DESCRIPTION "Runs of natsl-bench over several processes (mpirun, srun).")
set(CPACK_COMPONENT_CUDA_DESCRIPTION "natsl-bench on NVIDIA GPUs.")
# dpkg-shlibdeps finds what isn't Debian's here, and asks for no package of it.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_BINARY_DIR}/private_libraries)
file(REMOVE_RECURSE ${CMAKE_BINARY_DIR}/private_libraries)
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/private_libraries)
file(GLOB private ${torch_lib}/libtorch*.so ${torch_lib}/libc10*.so ${NATSL_LIBTORCH}/nvidia/*/lib/*.so.*)
foreach(library IN LISTS private arrow_library parquet_library)
  get_filename_component(name ${library} NAME)
  file(CREATE_LINK ${library} ${CMAKE_BINARY_DIR}/private_libraries/${name} SYMBOLIC)
endforeach()
include(CPack)
