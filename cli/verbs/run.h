// `natsl-bench run`: evaluates a model on tasks.
#pragma once

namespace CLI {
class App;
}

namespace natsl::cli {

struct Context;
void AddRun(CLI::App& app, Context& context);

}  // namespace natsl::cli
