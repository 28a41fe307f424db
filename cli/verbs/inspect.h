// `natsl-bench inspect ...`: what the program sees and computes, for checks from outside. The
// shapes of input and output are a contract.
#pragma once

namespace CLI {
class App;
}

namespace natsl::cli {

void AddInspect(CLI::App& app);

// One a file.
void AddInspectLogits(CLI::App& inspect);
void AddInspectTokens(CLI::App& inspect);
void AddInspectRequests(CLI::App& inspect);
void AddInspectScore(CLI::App& inspect);
void AddInspectModel(CLI::App& inspect);
void AddInspectMetric(CLI::App& inspect);

}  // namespace natsl::cli
