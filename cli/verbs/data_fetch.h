// `natsl-bench data fetch`: datasets into a data folder.
#pragma once

namespace CLI {
class App;
}

namespace natsl::cli {

struct Context;

/// Adds the verb below `data`.
void AddDataFetch(CLI::App& data, Context& context);

}  // namespace natsl::cli
