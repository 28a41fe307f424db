// `natsl-bench data ...` and `list datasets`: the datasets' files.
#pragma once

namespace CLI {
class App;
}

namespace natsl::cli {

struct Context;
void AddData(CLI::App& app, Context& context);
void ListDatasets();

}  // namespace natsl::cli
