# Script: writes a C++ file with the content of text files, for data the program must carry.
#   cmake -DOUT=FILE -DHEADER=INCLUDE -DFUNCTION=NAME "-DFILES=a;b;c" -P EmbedFiles.cmake
# FUNCTION is declared in HEADER as: std::vector<natsl::tasks::EmbeddedFile> FUNCTION();
set(body "// Generated from data files; do not edit.\n#include \"${HEADER}\"\n\n")
string(APPEND body "namespace natsl::tasks {\n\nstd::vector<EmbeddedFile> ${FUNCTION}() {\n  return {\n")
foreach(file IN LISTS FILES)
  get_filename_component(name "${file}" NAME)
  file(READ "${file}" content)
  string(APPEND body "      {\"${name}\", R\"natsl(${content})natsl\"},\n")
endforeach()
string(APPEND body "  };\n}\n\n}  // namespace natsl::tasks\n")
file(WRITE "${OUT}" "${body}")
