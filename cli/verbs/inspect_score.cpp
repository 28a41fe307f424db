// `natsl-bench inspect score`: stdin {"context", "continuation"} → log-prob, ids and greedy flag.
#include <CLI/CLI.hpp>
#include <iostream>

#include "cli/json_lines.h"
#include "cli/model_options.h"
#include "cli/verbs/inspect.h"
#include "core/json.h"
#include "reports/run_record.h"

namespace natsl::cli {
namespace {

using core::Json;

void Run(const ModelOptions& options) {
  if (!IsNative(options.model)) {
    throw UsageError("--model {}: inspect score needs a checkpoint folder", options.model);
  }
  const auto tokenizer = OpenModelTokenizer(options);
  const auto model = OpenLanguageModel(options);
  std::vector<Json> lines;
  std::vector<model_adapters::LoglikelihoodRequest> requests;
  ForEachJsonLine(std::cin, [&](Json& line, const std::string& where) {
    const core::JsonObject object(line, where, ErrorCode::kData);
    requests.push_back({object.String("context"), object.String("continuation")});
    lines.push_back(std::move(line));
  });
  std::vector<model_adapters::LoglikelihoodResult> results(requests.size());
  model_adapters::BatchListener listener;
  model->Loglikelihood(requests, results, listener);
  for (size_t i = 0; i < requests.size(); ++i) {
    Json& line = lines[i];
    if (results[i].error) {
      line["error"] = *results[i].error;
    } else {
      const model_adapters::EncodedPair pair =
          model_adapters::EncodePair(*tokenizer, requests[i].context, requests[i].continuation,
                                     ToBosPolicy(options.bos), model->Info().max_length);
      line["context_ids"] = pair.context;
      line["continuation_ids"] = pair.continuation;
      if (results[i].skipped) {
        line["skipped"] = true;
      } else {
        const reports::Number log_prob = reports::Number::Of(results[i].log_prob);
        line["logprob"] = log_prob.value ? Json(*log_prob.value) : Json(nullptr);
        if (!log_prob.value) line["logprob_null_reason"] = log_prob.reason;
        line["is_greedy"] = results[i].is_greedy;
      }
      line["dropped_ids"] = pair.dropped;
    }
    std::cout << core::PythonJson(line) << '\n';
  }
}

}  // namespace

void AddInspectScore(CLI::App& inspect) {
  CLI::App* verb = inspect.add_subcommand(
      "score",
      "Scores of continuations: JSONL {\"context\", \"continuation\"} on stdin; stdout "
      "adds context_ids, continuation_ids, logprob, is_greedy, dropped_ids");
  auto options = std::make_shared<ModelOptions>();
  AddModelOptions(*verb, *options);
  AddTextOptions(*verb, *options);
  verb->callback([options] { Run(*options); });
}

}  // namespace natsl::cli
