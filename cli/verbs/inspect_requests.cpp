// `natsl-bench inspect requests`: the requests of tasks, one JSON line each.
#include <CLI/CLI.hpp>
#include <iostream>

#include "cli/model_options.h"
#include "cli/task_options.h"
#include "cli/token_counter.h"
#include "cli/verbs/inspect.h"
#include "core/json.h"
#include "evaluators/request_plan.h"
#include "tasks/generation/protocol_settings.h"

namespace natsl::cli {
namespace {

using core::Json;

struct RequestsOptions {
  TaskSelection selection;
  std::string tokenizer;
};

Json ToJson(const std::string& task, const tasks::Request& request) {
  Json json;
  json["type"] = evaluators::Name(evaluators::KindOf(request));
  if (const auto* pair = std::get_if<tasks::LoglikelihoodRequest>(&request)) {
    json["context"] = pair->context;
    json["continuation"] = pair->continuation;
  } else if (const auto* rolling = std::get_if<tasks::RollingRequest>(&request)) {
    json["context"] = "";
    json["continuation"] = rolling->text;
    if (rolling->max_length) json["max_length"] = *rolling->max_length;
    if (rolling->whole_windows) json["whole_windows"] = *rolling->whole_windows;
    if (!rolling->packed.empty()) json["packed"] = rolling->packed;
  } else {
    const auto& generate = std::get<tasks::GenerateRequest>(request);
    json["context"] = generate.prompt;
    json["gen_kwargs"] = tasks::ProtocolSettings(task.substr(0, task.find('@')), generate);
    json["max_gen_toks"] = generate.max_new_tokens;
  }
  return json;
}

void Run(const RequestsOptions& options) {
  std::shared_ptr<const model_adapters::Tokenizer> tokenizer;
  const auto open = [&] {
    if (options.tokenizer.empty()) {
      throw UsageError("a task is built to a length: give --tokenizer to count its tokens");
    }
    tokenizer = model_adapters::OpenTokenizer(options.tokenizer);
  };
  const auto tasks = LoadTasks(options.selection, OpenThenCount(open, [&](const std::string& text) {
                                 return static_cast<int64_t>(tokenizer->Encode(text, false).size());
                               }));
  for (const evaluators::SelectedTask& task : tasks) {
    for (const int64_t index : task.documents) {
      const tasks::DocumentRequests document = task.task->Requests(index);
      for (size_t r = 0; r < document.requests.size(); ++r) {
        Json line;
        line["task"] = task.name;
        line["doc_id"] = document.doc_id;
        line["request"] = r;
        line.update(ToJson(task.name, document.requests[r]));
        line["target"] = document.target;
        std::cout << core::PythonJson(line) << '\n';
      }
    }
  }
}

}  // namespace

void AddInspectRequests(CLI::App& inspect) {
  CLI::App* verb = inspect.add_subcommand(
      "requests",
      "Requests of tasks as JSONL: task, doc_id, request, type, context, continuation "
      "or gen_kwargs and max_gen_toks, target");
  auto options = std::make_shared<RequestsOptions>();
  AddTaskSelection(*verb, options->selection);
  verb->add_option("--tokenizer", options->tokenizer,
                   "Folder or file: for tasks that are built to a length in tokens");
  verb->callback([options] { Run(*options); });
}

}  // namespace natsl::cli
