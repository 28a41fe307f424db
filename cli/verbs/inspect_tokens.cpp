// `natsl-bench inspect tokens`: stdin {"text"} → stdout {"text", "ids", "decoded"}.
#include <CLI/CLI.hpp>
#include <iostream>

#include "cli/json_lines.h"
#include "cli/verbs/inspect.h"
#include "core/json.h"
#include "model_adapters/tokenizer.h"

namespace natsl::cli {
namespace {

struct TokensOptions {
  std::string tokenizer;
  bool special = false;
};

void Run(const TokensOptions& options) {
  const auto tokenizer = model_adapters::OpenTokenizer(options.tokenizer);
  ForEachJsonLine(std::cin, [&](core::Json& line, const std::string& where) {
    const std::string text = core::JsonObject(line, where, ErrorCode::kData).String("text");
    const std::vector<model_adapters::TokenId> ids = tokenizer->Encode(text, options.special);
    core::Json out;
    out["text"] = text;
    out["ids"] = ids;
    out["decoded"] = tokenizer->Decode(ids, /*skip_special_tokens=*/false);
    std::cout << core::PythonJson(out) << '\n';
  });
}

}  // namespace

void AddInspectTokens(CLI::App& inspect) {
  CLI::App* verb = inspect.add_subcommand(
      "tokens",
      "Ids of texts: JSONL {\"text\"} on stdin, {\"text\", \"ids\", \"decoded\"} on stdout");
  auto options = std::make_shared<TokensOptions>();
  verb->add_option("--tokenizer", options->tokenizer,
                   "Model folder, tokenizer.json or tokenizer.model")
      ->required();
  verb->add_flag("--special", options->special,
                 "With the special tokens that the tokenizer itself puts around a text");
  verb->callback([options] { Run(*options); });
}

}  // namespace natsl::cli
