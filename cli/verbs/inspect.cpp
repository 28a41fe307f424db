#include "cli/verbs/inspect.h"

#include <CLI/CLI.hpp>

namespace natsl::cli {

void AddInspect(CLI::App& app) {
  CLI::App* inspect =
      app.add_subcommand("inspect", "Show token ids, requests, scores, logits: to check us by");
  inspect->require_subcommand(1);
  AddInspectLogits(*inspect);
  AddInspectTokens(*inspect);
  AddInspectRequests(*inspect);
  AddInspectScore(*inspect);
  AddInspectModel(*inspect);
  AddInspectMetric(*inspect);
}

}  // namespace natsl::cli
