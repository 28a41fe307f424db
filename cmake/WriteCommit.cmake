# Writes the commit of SOURCE into the C++ file OUT, if it isn't there yet. Outside of a git
# checkout (a release's archive) both are empty.
execute_process(COMMAND git -C ${SOURCE} rev-parse HEAD
  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
set(modified false)
if(failed)
  set(commit "")
else()
  execute_process(COMMAND git -C ${SOURCE} status --porcelain --untracked-files=no
    OUTPUT_VARIABLE changes ERROR_QUIET)
  if(changes)
    set(modified true)
  endif()
endif()
set(text "// Written by cmake/WriteCommit.cmake.
#include \"cli/commit.h\"

namespace natsl::cli {

Commit BuiltFrom() { return {\"${commit}\", ${modified}}; }

}  // namespace natsl::cli
")
set(old "")
if(EXISTS ${OUT})
  file(READ ${OUT} old)
endif()
if(NOT old STREQUAL text)
  file(WRITE ${OUT} "${text}")
endif()
