// `natsl-bench check`: whole pass, pieces with carried state, and token by token agree.
#pragma once

namespace CLI {
class App;
}

namespace natsl::cli {

struct Context;
void AddCheck(CLI::App& app, Context& context);

}  // namespace natsl::cli
