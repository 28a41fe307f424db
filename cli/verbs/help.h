// Declares `help` and `completion`: what is written from the option tables.
#pragma once

namespace CLI {
class App;
}

namespace natsl::cli {

void AddHelp(CLI::App& app);

}  // namespace natsl::cli
