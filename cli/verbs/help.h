// Declares `help` and `completion`: what is written from the option tables.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace natsl::cli {

void AddHelp(CLI::App& app);

/// "natsl-bench inspect tokens": how the verb is called.
std::string CallOf(const CLI::App& verb);
/// The verb's own help, whatever was parsed.
std::string HelpText(const CLI::App& verb);

}  // namespace natsl::cli
