// natsl-bench: the program.
#include <string>
#include <vector>

#include "cli/app.h"

int main(int argc, char** argv) {
  return natsl::cli::RunMain(std::vector<std::string>(argv + 1, argv + argc));
}
