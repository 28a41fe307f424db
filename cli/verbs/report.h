// `natsl-bench report`: one or several task runs as a page, Markdown or JSON.
#pragma once

namespace CLI {
class App;
}

namespace natsl::cli {

void AddReport(CLI::App& app);

}  // namespace natsl::cli
