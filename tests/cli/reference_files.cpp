#include "tests/cli/reference_files.h"

#include <zlib.h>

namespace natsl::cli {

std::string Unzip(const std::filesystem::path& file) {
  std::string text;
  const gzFile in = gzopen(file.c_str(), "rb");
  if (in == nullptr) return text;
  char buffer[65536];
  for (int n = 0; (n = gzread(in, buffer, sizeof(buffer))) > 0;) {
    text.append(buffer, static_cast<size_t>(n));
  }
  gzclose(in);
  return text;
}

}  // namespace natsl::cli
