// natsl-bench study: reports over several trained models.
#pragma once

namespace CLI {
class App;
}

namespace natsl::cli {

void AddStudy(CLI::App& app);

}  // namespace natsl::cli
