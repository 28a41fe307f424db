// One script a shell. All work the same way: the words that are verbs say which command the others
// belong to, and what it takes is offered; where any text is taken, files.
#include "cli/completion.h"

#include <fmt/format.h>

#include <string_view>

#include "core/error.h"

namespace natsl::cli {
namespace {

std::string Join(const std::vector<std::string>& words, const std::string& between) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
  return text;
}

/// In single quotes, for each of the three shells. `doubled`: fish's way.
std::string ShellQuoted(const std::string& text, bool fish = false) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += fish ? "\\'" : "'\\''";
    } else if (c == '\\' && fish) {
      out += "\\\\";
    } else {
      out += c;
    }
  }
  return out + "'";
}

/// 'natsl-bench data'|'natsl-bench data verify'|...: what a word makes of the command before it.
std::string Calls(const Command& root, const std::string& between) {
  std::vector<std::string> calls;
  for (const Command* command : AllCommands(root)) {
    if (command != &root) calls.push_back(ShellQuoted(command->call));
  }
  return Join(calls, between);
}

/// What may stand where `command` is: verbs, options, choices of its positionals.
std::vector<std::string> Words(const Command& root, const Command& command) {
  std::vector<std::string> words;
  for (const Command& verb : command.verbs) words.push_back(verb.name);
  for (const CommandOption& option : command.options) {
    const auto& more = option.positional ? option.choices : option.names;
    words.insert(words.end(), more.begin(), more.end());
  }
  if (&command != &root) words.emplace_back("--settings");
  return words;
}

std::string Bash(const Command& root) {
  std::string values, words;
  for (const Command* command : AllCommands(root)) {
    for (const CommandOption& option : command->options) {
      if (option.positional || option.flag) continue;
      std::vector<std::string> patterns;
      for (const std::string& name : option.names) patterns.push_back(command->call + " " + name);
      for (std::string& pattern : patterns) pattern = ShellQuoted(pattern);
      const std::string offer =
          option.choices.empty()
              ? "mapfile -t COMPREPLY < <(compgen -f -- \"$current\")"
              : fmt::format("mapfile -t COMPREPLY < <(compgen -W {} -- \"$current\")",
                            ShellQuoted(Join(option.choices, " ")));
      values += fmt::format("    {})\n      {}\n      return ;;\n", Join(patterns, "|"), offer);
    }
    words += fmt::format("    {}) words={} ;;\n", ShellQuoted(command->call),
                         ShellQuoted(Join(Words(root, *command), " ")));
  }
  return fmt::format(R"(# bash completion of {0}, written by {0} completion bash.
_natsl_bench() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} call={0} words= i
  # bash splits --option=value at the sign.
  if [ "$current" = = ]; then
    current=
  elif [ "$before" = = ]; then
    before=${{COMP_WORDS[COMP_CWORD - 2]}}
  fi
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case "$call ${{COMP_WORDS[i]}}" in
    {1})
      call="$call ${{COMP_WORDS[i]}}" ;;
    esac
  done
  case "$call $before" in
{2}  esac
  case $call in
{3}  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
  if [ ${{#COMPREPLY[@]}} -eq 0 ]; then
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
  fi
}}
complete -o filenames -F _natsl_bench {0}
)",
                     root.name, Calls(root, "|"), values, words);
}

/// An argument of zsh's _arguments: --name[what it does]:what it takes:how that is completed.
std::string ZshSpec(const CommandOption& option, const std::string& name) {
  std::string description;
  for (const char c : option.description) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') description += '\\';
    description += c;
  }
  const std::string action =
      option.choices.empty() ? "_files" : "(" + Join(option.choices, " ") + ")";
  if (option.positional) {
    return ShellQuoted(fmt::format("{}:{}:{}", option.repeated ? "*" : "", name, action));
  }
  if (option.flag) return ShellQuoted(fmt::format("{}[{}]", name, description));
  return ShellQuoted(
      fmt::format("{}{}[{}]:value:{}", option.repeated ? "*" : "", name, description, action));
}

std::string Zsh(const Command& root) {
  std::string cases;
  CommandOption file;
  file.description = "JSON object of option names and values";
  const std::string settings = ZshSpec(file, "--settings");
  for (const Command* command : AllCommands(root)) {
    std::string specs;
    for (const CommandOption& option : command->options) {
      for (const std::string& name : option.names) {
        specs += " \\\n        " + ZshSpec(option, name);
      }
    }
    if (command != &root) specs += " \\\n        " + settings;
    std::string verbs;
    for (const Command& verb : command->verbs) {
      std::string description;
      for (const char c : verb.description) {
        if (c == ':' || c == '\\') description += '\\';
        description += c;
      }
      verbs += "\n        " + ShellQuoted(verb.name + ":" + description);
    }
    if (!verbs.empty()) {
      cases += fmt::format(
          "    {})\n      verbs=({})\n      _arguments{} '*::verb:->verb'\n      "
          "[[ $state = verb ]] && _describe verb verbs ;;\n",
          ShellQuoted(command->call), verbs, specs);
    } else {
      cases += fmt::format("    {})\n      _arguments{} ;;\n", ShellQuoted(command->call), specs);
    }
  }
  return fmt::format(R"(#compdef {0}
# zsh completion of {0}, written by {0} completion zsh.
_natsl_bench() {{
  local call={0} state verbs
  integer i last=1
  for ((i = 2; i < CURRENT; ++i)); do
    case "$call $words[i]" in
    {1})
      call="$call $words[i]"
      last=i ;;
    esac
  done
  # _arguments counts from the verb.
  shift $((last - 1)) words
  ((CURRENT -= last - 1))
  case $call in
{2}  esac
}}
if [ "$funcstack[1]" = _natsl-bench ]; then
  _natsl_bench "$@"
else
  compdef _natsl_bench {0}
fi
)",
                     root.name, Calls(root, "|"), cases);
}

std::string Fish(const Command& root) {
  std::string lines;
  for (const Command* command : AllCommands(root)) {
    const std::string start =
        fmt::format("complete -c {} -n {}", root.name,
                    ShellQuoted(fmt::format("test (__natsl_bench_call) = \"{}\"", command->call)));
    for (const Command& verb : command->verbs) {
      lines +=
          fmt::format("{} -f -a {} -d {}\n", start, verb.name, ShellQuoted(verb.description, true));
    }
    for (const CommandOption& option : command->options) {
      std::string line = start;
      if (option.positional) {
        if (option.choices.empty()) continue;
        line += " -f -a " + ShellQuoted(Join(option.choices, " "), true);
      } else {
        for (const std::string& name : option.names) {
          line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
        }
        if (!option.flag) line += " -r";
        if (!option.choices.empty())
          line += " -f -a " + ShellQuoted(Join(option.choices, " "), true);
      }
      lines += line + " -d " + ShellQuoted(option.description, true) + "\n";
    }
  }
  return fmt::format(R"(# fish completion of {0}, written by {0} completion fish.
function __natsl_bench_call
  set -l call {0}
  for word in (commandline -opc)[2..-1]
    switch "$call $word"
      case {1}
        set call "$call $word"
    end
  end
  echo $call
end
{2}complete -c {0} -l settings -r -d 'JSON object of option names and values'
)",
                     root.name, Calls(root, " "), lines);
}

}  // namespace

std::string CompletionScript(const Command& root, const std::string& shell) {
  if (shell == "bash") return Bash(root);
  if (shell == "zsh") return Zsh(root);
  if (shell == "fish") return Fish(root);
  throw UsageError("completion: {} is not bash, zsh or fish", shell);
}

}  // namespace natsl::cli
