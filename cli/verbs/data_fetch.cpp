#include "cli/verbs/data_fetch.h"

#include <CLI/CLI.hpp>
#include <iostream>

#include "cli/app.h"
#include "cli/checks/number_checks.h"
#include "cli/terminal.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/files.h"
#include "fetch/fetch.h"
#include "fetch/http.h"
#include "reports/console_table.h"

namespace natsl::cli {
namespace {

constexpr int kStopped = 130;  // as a shell says of SIGINT
constexpr const char* kFetchFooter =
    "Nothing else of natsl-bench goes to the network for data. Fetched again, it goes on where it\n"
    "stopped; files that are there and right stay untouched. A token for the hub is read from\n"
    "HF_TOKEN or the hub's own token file, and sent to the hub alone. Exit status: 0, 2 the "
    "folder\n"
    "can't be written, 3 a file can't be had or has other bytes than it must, 5 the disk is full,\n"
    "130 stopped by a signal (run the same command again to go on).";

struct FetchVerb {
  std::vector<std::string> names, manifests, mirrors;
  std::string data, lock, hub = fetch::kHubUrl, from = "auto", token_file, ca_file;
  int64_t jobs = 4, retries = 8;
  bool replace = false, relock = false, dry_run = false, quiet = false;
};

std::string WithoutSlash(std::string url) {
  while (url.ends_with('/')) url.pop_back();
  return url;
}

std::string RequireAddress(const std::string& option, const std::string& url) {
  if (fetch::OriginOf(url).empty() || url.find('@') != std::string::npos) {
    throw UsageError("{}: '{}' is no address, expected https://HOST...", option, url);
  }
  return url;
}

/// "FROM=TO", or "TO" for the hub.
std::pair<std::string, std::string> ParseMirror(const std::string& text, const std::string& hub) {
  const size_t equals = text.find("=http");
  if (equals == std::string::npos) {
    return {hub + "/", WithoutSlash(RequireAddress("--mirror", text)) + "/"};
  }
  return {RequireAddress("--mirror", text.substr(0, equals)),
          RequireAddress("--mirror", text.substr(equals + 1))};
}

fetch::FetchFrom ParseFrom(const std::string& text) {
  if (text == "published") return fetch::FetchFrom::kPublished;
  return text == "hub" ? fetch::FetchFrom::kHub : fetch::FetchFrom::kAuto;
}

int Fetch(const FetchVerb& verb) {
  std::vector<tasks::Manifest> own;
  own.reserve(verb.manifests.size());  // pointers to them are kept
  std::vector<const tasks::Manifest*> manifests;
  for (const std::string& name : verb.names) manifests.push_back(&tasks::FindManifest(name));
  for (const std::string& file : verb.manifests) {
    own.push_back(tasks::ParseManifest(core::ReadFile(file, ErrorCode::kUsage), file));
    manifests.push_back(&own.back());
  }
  if (manifests.empty())
    throw UsageError("no dataset named (natsl-bench list datasets tells them)");
  fetch::FetchOptions options;
  options.data = verb.data;
  options.lock = verb.lock;
  options.hub = WithoutSlash(RequireAddress("--hub", verb.hub));
  for (const std::string& mirror : verb.mirrors) {
    options.mirrors.push_back(ParseMirror(mirror, options.hub));
  }
  options.token = fetch::ReadHubToken(verb.token_file);
  options.ca_file = verb.ca_file;
  options.from = ParseFrom(verb.from);
  options.jobs = verb.jobs;
  options.replace = verb.replace;
  options.relock = verb.relock;
  options.dry_run = verb.dry_run;
  options.retry.attempts = static_cast<int>(verb.retries);
  CatchStopSignals();
  options.stopped = StopRequested;
  const core::SteadyClock clock;
  const auto style = verb.quiet           ? fetch::ProgressStyle::kQuiet
                     : StderrIsTerminal() ? fetch::ProgressStyle::kLive
                                          : fetch::ProgressStyle::kPlain;
  fetch::FetchProgress progress(style, clock, [](const std::string& text) { std::cerr << text; });
  const std::vector<fetch::FetchResult> results = fetch::FetchData(manifests, options, progress);
  std::vector<std::vector<std::string>> rows;
  bool failed = false;
  std::map<const tasks::Manifest*, bool> any;  // some file can be had
  for (const fetch::FetchResult& result : results) {
    failed |= result.state == fetch::FetchState::kFailed;
    any[result.manifest] |= result.state != fetch::FetchState::kNoSource;
    rows.push_back({result.manifest->name, result.file, Name(result.state), result.detail});
  }
  for (const auto& [manifest, can] : any) failed |= !can;
  std::cout << reports::MarkdownTable({"Dataset", "File", "State", "Detail"}, rows);
  if (StopRequested()) {
    progress.Note("stopped; run the same command again to go on");
    return kStopped;
  }
  return failed ? static_cast<int>(ErrorCode::kData) : 0;
}

}  // namespace

void AddDataFetch(CLI::App& data, Context& context) {
  CLI::App* app = data.add_subcommand("fetch", "Download datasets, verified and resumable");
  auto verb = std::make_shared<FetchVerb>();
  app->add_option("names", verb->names, "Datasets (natsl-bench list datasets)");
  app->add_option("--data", verb->data, "Folder they go to; made where it isn't there")->required();
  app->add_option("--manifest", verb->manifests,
                  "A manifest of your own, as data_manifests/README.md says (may be repeated)");
  app->add_option("--from", verb->from,
                  "published: the publisher's own files; hub: the Hugging Face hub's, as its cache "
                  "below the folder; auto: published where an address is known")
      ->check(CLI::IsMember({"auto", "published", "hub"}))
      ->capture_default_str();
  app->add_option("--mirror", verb->mirrors,
                  "FROM=TO: addresses that start with FROM are tried with TO first; an address "
                  "alone: a mirror of the hub (may be repeated)");
  app->add_option("--hub", verb->hub, "Address of the hub; it alone gets the token")
      ->capture_default_str();
  app->add_option("--token-file", verb->token_file,
                  "File with the hub's token, instead of HF_TOKEN and the hub's own file");
  app->add_option("--ca-file", verb->ca_file, "Certificates to trust instead of the system's");
  app->add_option("--jobs", verb->jobs, "Downloads at once")
      ->check(WholeNumber(1, 64))
      ->capture_default_str();
  app->add_option("--retries", verb->retries,
                  "Attempts of a file that bring nothing before giving up")
      ->check(WholeNumber(1, 100))
      ->capture_default_str();
  app->add_option("--lock", verb->lock,
                  "File with what was fetched of datasets without known hashes (default: data.lock "
                  "in the folder)");
  app->add_flag("--replace", verb->replace, "Fetch files anew that are there and wrong");
  app->add_flag("--relock", verb->relock,
                "Take what is published now of files that only the lock knows, and lock that");
  app->add_flag("--dry-run", verb->dry_run, "Say what would be fetched; no network");
  app->add_flag("--quiet", verb->quiet, "No progress");
  app->footer(kFetchFooter);
  app->callback([verb, &context] { context.status = Fetch(*verb); });
}

}  // namespace natsl::cli
