// The manual page: every verb with its options, then what holds for all.
#include "cli/man_page.h"

#include <algorithm>

namespace natsl::cli {
namespace {

/// Text as roff: no character of it is a command, and hyphens stay hyphens.
std::string Roff(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool line_start = i == 0 || text[i - 1] == '\n';
    if (line_start && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  return out;
}

/// As an argument of a macro.
std::string MacroArgument(const std::string& text) {
  std::string out = "\"";
  for (const char c : Roff(text)) out += c == '"' ? std::string("\\(dq") : std::string(1, c);
  return out + "\"";
}

std::string Upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return text;
}

std::string OptionEntry(const CommandOption& option) {
  std::string line = "\\fB";
  for (size_t i = 0; i < option.names.size(); ++i) {
    line += (i == 0 ? "" : "\\fR, \\fB") + Roff(option.names[i]);
  }
  line += "\\fR";
  if (!option.positional && !option.flag) line += " \\fI" + Roff(option.type) + "\\fR";
  if (option.repeated) line += " ...";
  std::string text = Roff(option.description);
  if (!option.default_value.empty()) text += " (default: " + Roff(option.default_value) + ")";
  if (option.required) text += ". Required";
  return ".TP\n" + line + "\n" + text + ".\n";
}

std::string Synopsis(const Command& command) {
  std::string line = ".B " + Roff(command.call) + "\n";
  const bool options = std::any_of(command.options.begin(), command.options.end(),
                                   [](const CommandOption& option) { return !option.positional; });
  if (options) line += "[\\fIoptions\\fR]\n";
  for (const CommandOption& option : command.options) {
    if (!option.positional) continue;
    const std::string name = "\\fI" + option.names[0] + "\\fR" + (option.repeated ? " ..." : "");
    line += option.required ? name + "\n" : "[" + name + "]\n";
  }
  return line;
}

constexpr const char* kEnvironment = R"(.SH ENVIRONMENT
.TP
.B NATSL_LIBTORCH
Folder with torch/lib/libtorch_cpu.so: the LibTorch that checkpoints are run with, in place of the
one that was found when the program was built.
.TP
.B XDG_CACHE_HOME
Where the user's cache is (default: ~/.cache): below natsl\-bench in it, LibTorch and word tables as
set\-up unpacks them.
.TP
.BR HF_HOME ", " HF_HUB_CACHE
The Hugging Face cache that datasets are looked for in, where \-\-data lacks them.
)";

}  // namespace

std::string ManPage(const Command& root, const std::string& version) {
  std::string page = ".\\\" Written by natsl-bench help --man.\n.TH " + Upper(root.name) +
                     " 1 \"\" " + MacroArgument(root.name + " " + version) + "\n";
  page += ".SH NAME\n" + Roff(root.name) + " \\- " + Roff(root.description) + "\n.SH SYNOPSIS\n";
  page += ".B " + Roff(root.name) + "\n\\fIverb\\fR [\\fIoptions\\fR]\n.SH VERBS\n";
  for (const Command* command : AllCommands(root)) {
    if (command == &root || !command->verbs.empty()) continue;
    page += ".TP\n.B " + Roff(command->call.substr(root.name.size() + 1)) + "\n" +
            Roff(command->description) + ".\n";
  }
  for (const Command* command : AllCommands(root)) {
    if (command == &root) {
      page += ".SH OPTIONS\n";
    } else if (!command->verbs.empty()) {
      continue;
    } else {
      page += ".SH " + MacroArgument(Upper(command->call.substr(root.name.size() + 1))) + "\n" +
              Synopsis(*command) + ".PP\n" + Roff(command->description) + ".\n";
    }
    for (const CommandOption& option : command->options) page += OptionEntry(option);
    if (command != &root && !command->footer.empty()) {
      page += ".PP\n.nf\n" + Roff(command->footer) + "\n.fi\n";
    }
  }
  page += ".SH EXIT STATUS\n.nf\n" + Roff(root.footer) + "\n.fi\n";
  return page + kEnvironment;
}

}  // namespace natsl::cli
