#include "cli/app.h"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <new>

#include "cli/settings.h"
#include "cli/suggest.h"
#include "cli/verbs/check.h"
#include "cli/verbs/compare.h"
#include "cli/verbs/data.h"
#include "cli/verbs/help.h"
#include "cli/verbs/inspect.h"
#include "cli/verbs/latency.h"
#include "cli/verbs/list.h"
#include "cli/verbs/report.h"
#include "cli/verbs/rescore.h"
#include "cli/verbs/run.h"
#include "cli/verbs/study.h"
#include "cli/version_json.h"
#include "core/build_info.h"
#include "core/error.h"
#include "core/standard_streams.h"
#include "core/utf8.h"
#include "evaluators/response_codec.h"

namespace natsl::cli {
namespace {

constexpr const char* kFooter =
    "Exit status: 0 done, 1 regression, 2 wrong command line or output, 3 data, 4 model,\n"
    "5 internal, 6 inconclusive. Results go to stdout, progress to stderr.\n"
    "--settings FILE (a JSON object of option names and values) works with every verb.";

/// The innermost verb that was parsed: the one whose options a message is about.
const CLI::App* Innermost(const CLI::App* app) {
  while (true) {
    const std::vector<CLI::App*> parsed = app->get_subcommands();
    if (parsed.empty()) return app;
    app = parsed.front();
  }
}

std::vector<std::string> KnownNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(verb->get_name());
  }
  return names;
}

/// The first argument that nothing takes, options before others; "" where there is none.
std::string FirstUnknown(const CLI::App& app) {
  const std::vector<std::string> left = app.remaining(true);
  for (const std::string& argument : left) {
    if (argument.starts_with("-")) return argument.substr(0, argument.find('='));
  }
  return left.empty() ? "" : left.front();
}

/// A parse failure as our one line: what is wrong, and the nearest names. An unknown option goes
/// before a missing one: it may be the same one, misspelt.
Error ToError(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App* verb = Innermost(&app);
  const std::string help = CallOf(*verb) + " --help";
  if (const std::string name = FirstUnknown(app); !name.empty()) {
    return UsageError("unknown {} {}{} (see {})", name.starts_with("-") ? "option" : "argument",
                      name, DidYouMean(name, KnownNames(*verb)), help);
  }
  std::string message = error.what();
  for (char& c : message) {
    if (c == '\n') c = ' ';
  }
  return UsageError("{} (see {})", message, help);
}

/// Arguments go into records, which are UTF-8.
void RequireUtf8(const std::vector<std::string>& arguments) {
  for (const std::string& argument : arguments) {
    if (core::IsValidUtf8(argument)) continue;
    throw UsageError(
        "the argument \"{}\" isn't UTF-8; rename what it names, or give a link to it that has such "
        "a name",
        core::EncodeUtf8(core::DecodeUtf8(argument)));
  }
}

int Dispatch(const std::vector<std::string>& arguments) {
  RequireUtf8(arguments);
  Context context;
  context.arguments = ExpandSettingsFile(arguments, context.from_file);
  CLI::App app("Quality and speed of hybrid-attention language models", "natsl-bench");
  app.footer(kFooter);
  app.require_subcommand(0, 1);
  bool version = false, json = false;
  app.add_flag("--version", version, "Print the version");
  app.add_flag("--json", json, "With --version: as JSON");
  AddRun(app, context);
  AddList(app);
  AddInspect(app);
  AddCheck(app, context);
  AddReport(app);
  AddRescore(app);
  AddLatency(app, context);
  AddCompare(app, context);
  AddData(app, context);
  AddStudy(app);
  AddHelp(app);
  std::vector<std::string> reversed(context.arguments.rbegin(), context.arguments.rend());
  try {
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    std::cout << HelpText(*Innermost(&app));
    return 0;
  } catch (const CLI::ParseError& error) {
    throw ToError(app, error);
  }
  if (version) {
    std::cout << (json ? VersionJson() : std::string("natsl-bench ") + ProgramVersion()) << "\n";
  } else if (app.get_subcommands().empty()) {
    throw UsageError(
        "no verb given: run, latency, list, inspect, check, report, rescore, compare, data, "
        "study, help "
        "(see natsl-bench --help)");
  }
  std::cout << std::flush;
  if (!std::cout) throw UsageError("stdout: cannot write the result");
  return context.status;
}

}  // namespace

const char* ProgramVersion() { return core::ThisBuild().version.c_str(); }

std::vector<std::pair<std::string, std::string>> ProgramVersions() {
  return {{"natsl-bench", ProgramVersion()},
          {"compiler", __VERSION__},
          {"stored answers", std::to_string(evaluators::kResponseSchema)}};
}

int RunMain(const std::vector<std::string>& arguments) {
  std::ios::sync_with_stdio(false);
  try {
    return Dispatch(arguments);
  } catch (const Error& error) {
    core::PrintError("natsl-bench", error.what());
    return static_cast<int>(error.code());
  } catch (const std::filesystem::filesystem_error& error) {
    // A path of the command line's, or below one, that can't even be looked at.
    core::PrintError("natsl-bench", error.path1().string() + ": " + error.code().message() +
                                        "; give a path that this user can read");
    return static_cast<int>(ErrorCode::kUsage);
  } catch (const std::bad_alloc&) {
    core::PrintError("natsl-bench", "out of memory");
  } catch (const std::exception& error) {
    core::PrintError("natsl-bench", std::string("internal: ") + error.what());
  }
  return static_cast<int>(ErrorCode::kInternal);
}

}  // namespace natsl::cli
