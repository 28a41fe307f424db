# The optional Parquet reader: natsl::arrow from the libraries and headers that PyPI's pyarrow wheel
# carries. NATSL_ARROW is its pyarrow folder, by default where scripts/setup unpacks it; without it
# Parquet files are refused with a hint.
set(NATSL_ARROW "" CACHE PATH "Folder with include/arrow and libarrow.so.N (for Parquet files)")
set(arrow_folder ${NATSL_ARROW})
if(NOT arrow_folder AND EXISTS $ENV{HOME}/.cache/natsl-bench/arrow-26.0.1/include/arrow/api.h)
  set(arrow_folder $ENV{HOME}/.cache/natsl-bench/arrow-26.0.1)
endif()
if(arrow_folder)
  file(GLOB arrow_library ${arrow_folder}/libarrow.so.*)
  file(GLOB parquet_library ${arrow_folder}/libparquet.so.*)
  if(NOT arrow_library OR NOT parquet_library OR NOT EXISTS ${arrow_folder}/include/arrow/api.h)
    message(FATAL_ERROR "NATSL_ARROW: no include/arrow/api.h, libarrow.so.N and libparquet.so.N in "
                        "'${arrow_folder}'. Run scripts/setup, or give the pyarrow folder of PyPI's "
                        "wheel (pip install --target DIR pyarrow, then DIR/pyarrow).")
  endif()
  file(STRINGS ${arrow_folder}/include/arrow/util/config.h NATSL_ARROW_VERSION
    REGEX "define ARROW_VERSION_STRING")
  string(REGEX REPLACE ".*\"(.*)\".*" "\\1" NATSL_ARROW_VERSION "${NATSL_ARROW_VERSION}")
  list(GET arrow_library 0 arrow_library)
  list(GET parquet_library 0 parquet_library)
  add_library(natsl::arrow INTERFACE IMPORTED GLOBAL)
  target_link_libraries(natsl::arrow INTERFACE ${parquet_library} ${arrow_library})
  target_include_directories(natsl::arrow SYSTEM INTERFACE ${arrow_folder}/include)
endif()
