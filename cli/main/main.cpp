// natsl-bench: the program.
#include <string>
#include <vector>

#include "cli/app.h"
#include "core/standard_streams.h"

int main(int argc, char** argv) {
  natsl::core::KeepStandardStreams();
  return natsl::cli::RunMain(std::vector<std::string>(argv + 1, argv + argc));
}
