# The optional Parquet reader: natsl::arrow from the libraries and headers that PyPI's pyarrow wheel
# carries. NATSL_ARROW is its pyarrow folder; without it Parquet files are refused with a hint.
set(NATSL_ARROW "" CACHE PATH "pyarrow folder with include/ and libarrow.so.N (for Parquet files)")
if(NATSL_ARROW)
  file(GLOB arrow_library ${NATSL_ARROW}/libarrow.so.*)
  file(GLOB parquet_library ${NATSL_ARROW}/libparquet.so.*)
  if(NOT arrow_library OR NOT parquet_library OR NOT EXISTS ${NATSL_ARROW}/include/arrow/api.h)
    message(FATAL_ERROR "NATSL_ARROW: no include/arrow/api.h, libarrow.so.N and libparquet.so.N in "
                        "'${NATSL_ARROW}'. Expected the pyarrow folder of PyPI's wheel "
                        "(pip install --target DIR pyarrow, then DIR/pyarrow).")
  endif()
  list(GET arrow_library 0 arrow_library)
  list(GET parquet_library 0 parquet_library)
  add_library(natsl::arrow INTERFACE IMPORTED GLOBAL)
  target_link_libraries(natsl::arrow INTERFACE ${parquet_library} ${arrow_library})
  target_include_directories(natsl::arrow SYSTEM INTERFACE ${NATSL_ARROW}/include)
endif()
