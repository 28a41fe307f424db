// `natsl-bench list ...`: what the program knows.
#pragma once

namespace CLI {
class App;
}

namespace natsl::cli {

void AddList(CLI::App& app);

}  // namespace natsl::cli
