#include "cli/verbs/list.h"

#include <CLI/CLI.hpp>
#include <iostream>

#include "cli/verbs/data.h"
#include "cli/verbs/list_tasks.h"
#include "core/error.h"
#include "kernels/registry.h"
#include "model_adapters/spec/family.h"
#include "reports/console_table.h"

namespace natsl::cli {
namespace {

void ListModels() {
  std::vector<std::vector<std::string>> rows;
  for (const model_adapters::Family& family : model_adapters::Families()) {
    rows.push_back(
        {std::string(family.model_type), "checkpoint folder (model_type in config.json)"});
  }
  rows.push_back({"openai:URL[,key=value...]",
                  "a server with OpenAI's interface (vLLM, SGLang, llama.cpp, ...)"});
  rows.push_back({"process:CMD ARGS", "a program that answers lines of JSON"});
  rows.push_back({"scripted:FILE", "answers from a JSONL file"});
  rows.push_back({"checked:A,B",
                  "runs two models and compares them; A and B may end in @float32, "
                  "@bfloat16, @cpu, @cuda"});
  std::cout << reports::MarkdownTable({"Model", "What"}, rows);
}

void ListTokenizers() {
  std::cout << reports::MarkdownTable(
      {"File", "What"},
      {{"tokenizer.json",
        "byte-level BPE, BPE with byte fallback, Unigram, WordPiece, WordLevel "
        "(also tokenizer.json.gz)"},
       {"tokenizer.model, spiece.model", "sentencepiece"},
       {"tokenizer_config.json", "start and end tokens, model_max_length: read beside the above"}});
}

void ListKernels() {
  std::vector<std::vector<std::string>> rows;
  for (const kernels::KernelEntry& kernel : kernels::Kernels()) {
    std::string back_ends;
    for (const std::string_view back_end : kernel.back_ends) {
      back_ends += (back_ends.empty() ? "" : ", ") + std::string(back_end);
    }
    rows.push_back({std::string(kernel.name), back_ends, std::string(kernel.summary)});
  }
  std::cout << reports::MarkdownTable({"Kernel", "Back-ends", "What"}, rows);
}

struct ListOptions {
  bool verbose = false, markdown = false;
};

}  // namespace

void AddList(CLI::App& app) {
  CLI::App* list = app.add_subcommand("list", "Tasks, models, tokenizers, datasets, kernels");
  list->require_subcommand(1);
  auto options = std::make_shared<ListOptions>();
  CLI::App* tasks = list->add_subcommand("tasks", "Tasks and groups");
  tasks->add_flag("--verbose", options->verbose, "Each task's card: data, protocol, metrics");
  tasks->add_flag("--markdown", options->markdown, "The cards as the page docs/tasks.md");
  tasks->callback([options] {
    if (options->markdown)
      PrintTaskPage(std::cout);
    else if (options->verbose)
      PrintTaskCards(std::cout);
    else
      PrintTaskNames(std::cout);
  });
  list->add_subcommand("models", "Model families and adapters")->callback(ListModels);
  list->add_subcommand("tokenizers", "Tokenizer files")->callback(ListTokenizers);
  list->add_subcommand("datasets", "Datasets and their homes")->callback(ListDatasets);
  list->add_subcommand("kernels", "Kernels and their back-ends")->callback(ListKernels);
}

}  // namespace natsl::cli
