// `natsl-bench compare BASE NEW`: two task runs, or two latency runs, with a gate for CI.
#pragma once

namespace CLI {
class App;
}

namespace natsl::cli {

struct Context;
void AddCompare(CLI::App& app, Context& context);

}  // namespace natsl::cli
