// `natsl-bench latency`: prefill and decode by length, with memory, intervals and baselines.
#pragma once

namespace CLI {
class App;
}

namespace natsl::cli {

struct Context;
void AddLatency(CLI::App& app, Context& context);

}  // namespace natsl::cli
