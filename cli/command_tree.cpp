// CLI11's tables as plain data.
#include "cli/command_tree.h"

#include <CLI/CLI.hpp>

namespace natsl::cli {
namespace {

/// "TEXT:{auto,always}": the values between the braces.
std::vector<std::string> Choices(const std::string& type) {
  const size_t begin = type.find(":{"), end = type.rfind('}');
  std::vector<std::string> choices;
  if (begin == std::string::npos || end == std::string::npos) return choices;
  for (size_t at = begin + 2; at <= end;) {
    const size_t next = std::min(type.find(',', at), end);
    choices.push_back(type.substr(at, next - at));
    at = next + 1;
  }
  return choices;
}

CommandOption ReadOption(const CLI::Option& option) {
  CommandOption read;
  for (const std::string& name : option.get_snames()) read.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) read.names.push_back("--" + name);
  read.positional = read.names.empty();
  if (read.positional) read.names.push_back(option.get_name(/*positional=*/true));
  read.description = option.get_description();
  read.flag = option.get_items_expected_max() == 0;
  if (!read.flag) {
    read.type = option.get_type_name();
    read.choices = Choices(read.type);
    read.default_value = option.get_default_str();
  }
  read.required = option.get_required();
  read.repeated = option.get_expected_max() > 1;
  return read;
}

Command ReadCommand(const CLI::App& app, const std::string& above) {
  Command command;
  command.name = app.get_name();
  command.call = above.empty() ? command.name : above + " " + command.name;
  command.description = app.get_description();
  if (app.get_parent() == nullptr || app.get_footer() != app.get_parent()->get_footer()) {
    command.footer = app.get_footer();
  }
  for (const CLI::Option* option : app.get_options())
    command.options.push_back(ReadOption(*option));
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
    command.verbs.push_back(ReadCommand(*verb, command.call));
  }
  return command;
}

void Append(const Command& command, std::vector<const Command*>& all) {
  all.push_back(&command);
  for (const Command& verb : command.verbs) Append(verb, all);
}

}  // namespace

Command ReadCommands(const CLI::App& root) {
  Command command = ReadCommand(root, "");
  CommandOption settings;
  settings.names = {"--settings"};
  settings.description =
      "JSON object of option names and values, behind any verb; the command line's own go before";
  settings.type = "FILE";
  command.options.push_back(settings);
  return command;
}

std::vector<const Command*> AllCommands(const Command& root) {
  std::vector<const Command*> all;
  Append(root, all);
  return all;
}

}  // namespace natsl::cli
