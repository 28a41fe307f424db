# How every target of the project is declared: sources by folder, warnings, include root.

add_library(natsl_flags INTERFACE)
target_include_directories(natsl_flags INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_options(natsl_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wconversion>)
if(NATSL_WERROR)
  target_compile_options(natsl_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
endif()

# natsl_sources(OUT DIR...): the .cpp files directly in each folder (relative to the caller).
function(natsl_sources out)
  set(all)
  foreach(dir IN LISTS ARGN)
    file(GLOB found CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${dir}/*.cpp)
    list(APPEND all ${found})
  endforeach()
  set(${out} ${all} PARENT_SCOPE)
endfunction()

# natsl_library(NAME FOLDERS dir... DEPENDS target... [PRECOMPILED header|target|NONE] [BATCH n]): a
# static library from whole folders. It uses natsl_core's precompiled headers unless it names its
# own or another target's. BATCH sources are compiled as one.
function(natsl_library name)
  cmake_parse_arguments(ARG "" "PRECOMPILED;BATCH" "FOLDERS;DEPENDS;PRIVATE_DEPENDS" ${ARGN})
  natsl_sources(sources ${ARG_FOLDERS})
  if(sources)
    add_library(${name} STATIC ${sources})
    target_link_libraries(${name} PUBLIC natsl_flags ${ARG_DEPENDS} PRIVATE ${ARG_PRIVATE_DEPENDS})
    natsl_precompiled(${name} natsl_core "${ARG_PRECOMPILED}")
    natsl_batches(${name} "${ARG_BATCH}")
  else()
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE natsl_flags ${ARG_DEPENDS})
  endif()
endfunction()

# natsl_precompiled(NAME OWNER OWN): NAME precompiles the header OWN, or shares the target OWN's, or
# OWNER's where OWN is empty; NONE for neither.
function(natsl_precompiled name owner own)
  if(own STREQUAL "")
    target_precompile_headers(${name} REUSE_FROM ${owner})
  elseif(TARGET ${own})
    target_precompile_headers(${name} REUSE_FROM ${own})
  elseif(NOT own STREQUAL "NONE")
    target_precompile_headers(${name} PRIVATE ${own})
  endif()
endfunction()

# natsl_batches(NAME SIZE): that many of NAME's sources are compiled as one. What a header defines
# inline is compiled once a batch, which costs more than most sources themselves; the sources of a
# batch share the anonymous namespace, so that the names in it must differ.
option(NATSL_BATCHES "Compile sources in batches (OFF: each alone, as a check of its includes)" ON)
function(natsl_batches name size)
  if(NATSL_BATCHES AND NOT size STREQUAL "")
    set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${size})
  endif()
endfunction()

# natsl_test(NAME FOLDERS dir... DEPENDS target... [PRECOMPILED header|target|NONE] [BATCH n]): one
# GoogleTest program from whole folders.
function(natsl_test name)
  cmake_parse_arguments(ARG "" "PRECOMPILED;BATCH" "FOLDERS;DEPENDS" ${ARGN})
  natsl_sources(sources ${ARG_FOLDERS})
  if(NOT sources)
    return()
  endif()
  add_executable(${name} ${sources})
  target_link_libraries(${name} PRIVATE natsl_test_support natsl_flags ${ARG_DEPENDS} GTest::gmock
                                        GTest::gtest_main)
  # The code under test is optimised; the tests themselves only have to compile fast.
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O0>)
  natsl_precompiled(${name} core_tests "${ARG_PRECOMPILED}")
  natsl_batches(${name} "${ARG_BATCH}")
  # A parameterised test is told by its name, not by the bytes of its parameter.
  gtest_discover_tests(${name} NO_PRETTY_VALUES DISCOVERY_MODE PRE_TEST PROPERTIES TIMEOUT 600)
endfunction()
