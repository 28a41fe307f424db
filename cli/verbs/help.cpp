// `help`: a verb's help, or the manual page. `completion`: a shell's script.
#include "cli/verbs/help.h"

#include <CLI/CLI.hpp>
#include <iostream>

#include "cli/app.h"
#include "cli/command_tree.h"
#include "cli/completion.h"
#include "cli/man_page.h"
#include "cli/suggest.h"
#include "core/error.h"

namespace natsl::cli {
namespace {

struct HelpOptions {
  std::vector<std::string> verbs;
  bool man = false;
  std::string shell;
};

void Help(const CLI::App& root, const HelpOptions& options) {
  if (options.man) {
    if (!options.verbs.empty()) throw UsageError("help: --man is of all verbs; give none");
    std::cout << ManPage(ReadCommands(root), ProgramVersion());
    return;
  }
  const CLI::App* app = &root;
  for (const std::string& name : options.verbs) {
    const CLI::App* found = nullptr;
    std::vector<std::string> names;
    for (const CLI::App* verb : app->get_subcommands([](const CLI::App*) { return true; })) {
      names.push_back(verb->get_name());
      if (verb->get_name() == name) found = verb;
    }
    if (found == nullptr) {
      throw UsageError("help: unknown verb {}{} (see natsl-bench --help)", name,
                       DidYouMean(name, names));
    }
    app = found;
  }
  std::cout << HelpText(*app);
}

}  // namespace

std::string CallOf(const CLI::App& verb) {
  const CLI::App* parent = verb.get_parent();
  return parent == nullptr ? verb.get_name() : CallOf(*parent) + " " + verb.get_name();
}

std::string HelpText(const CLI::App& verb) {
  return verb.get_formatter()->make_help(&verb, CallOf(verb), CLI::AppFormatMode::Normal);
}

void AddHelp(CLI::App& app) {
  auto options = std::make_shared<HelpOptions>();
  CLI::App* help = app.add_subcommand("help", "Help of a verb, or the manual page");
  help->add_option("verb", options->verbs, "Verb, as `help data verify` (default: the program)");
  help->add_flag("--man", options->man, "The manual page natsl-bench.1, in roff");
  help->callback([&app, options] { Help(app, *options); });
  CLI::App* completion =
      app.add_subcommand("completion", "Completions of the command line, for a shell to read");
  completion->add_option("shell", options->shell, "Shell")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  completion->footer(
      "Example (bash, in ~/.bashrc):\n  source <(natsl-bench completion bash)\n"
      "zsh: the same; fish: natsl-bench completion fish | source");
  completion->callback(
      [&app, options] { std::cout << CompletionScript(ReadCommands(app), options->shell); });
}

}  // namespace natsl::cli
