// `natsl-bench rescore`: metrics of a finished run again, without its model.
#pragma once

namespace CLI {
class App;
}

namespace natsl::cli {

void AddRescore(CLI::App& app);

}  // namespace natsl::cli
