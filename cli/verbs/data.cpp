#include "cli/verbs/data.h"

#include <CLI/CLI.hpp>
#include <iostream>

#include "cli/app.h"
#include "cli/verbs/data_fetch.h"
#include "core/error.h"
#include "reports/console_table.h"
#include "tasks/data/lock.h"
#include "tasks/data/manifest.h"

namespace natsl::cli {
namespace {

using tasks::FileState;

struct DataOptions {
  std::string data, lock;
  std::vector<std::string> names;
  std::string name;
};

tasks::DataLock LockOf(const DataOptions& options) {
  const std::filesystem::path folder(options.data);
  return tasks::DataLock::Read(options.lock.empty() ? folder / tasks::DataLock::kFileName
                                                    : std::filesystem::path(options.lock));
}

/// Exit status 3 where a file is there but wrong, or none of the asked ones is right.
int Verify(const DataOptions& options) {
  const std::vector<tasks::FileCheck> checks =
      tasks::VerifyData(options.data, options.names, LockOf(options));
  std::vector<std::vector<std::string>> rows;
  bool wrong = false, missing = false;
  for (const tasks::FileCheck& check : checks) {
    const bool absent = check.state == FileState::kMissing;
    missing |= absent;
    wrong |= !absent && check.state != FileState::kRight && check.state != FileState::kUnverified;
    rows.push_back({check.manifest->name, check.file, Name(check.state), check.detail});
  }
  std::cout << reports::MarkdownTable({"Dataset", "File", "State", "Detail"}, rows);
  // Without names, datasets that a user hasn't fetched are no fault.
  const bool failed = wrong || (missing && !options.names.empty());
  return failed ? static_cast<int>(ErrorCode::kData) : 0;
}

void Path(const DataOptions& options) {
  const tasks::Manifest& manifest = tasks::FindManifest(options.name);
  const tasks::DatasetLocation location = tasks::LocateDataset(options.data, manifest);
  for (const std::filesystem::path& file : location.files) std::cout << file.string() << "\n";
  for (const std::filesystem::path& file : location.hub_files) std::cout << file.string() << "\n";
  if (location.files.empty() && location.hub_files.empty()) {
    throw DataError(
        "{}: none of its files is {}in a Hugging Face cache; its home is {}", manifest.name,
        options.data.empty() ? "" : fmt::format("below {} or ", options.data), manifest.home);
  }
}

}  // namespace

void ListDatasets() {
  std::vector<std::vector<std::string>> rows;
  for (const tasks::Manifest& manifest : tasks::Manifests()) {
    rows.push_back({manifest.name, manifest.title, manifest.licence, manifest.home});
  }
  std::cout << reports::MarkdownTable({"Dataset", "What", "Licence", "Home"}, rows);
}

void AddData(CLI::App& app, Context& context) {
  CLI::App* data = app.add_subcommand("data", "The datasets' files: fetch, verify, find them");
  data->require_subcommand(1);
  auto options = std::make_shared<DataOptions>();
  CLI::App* verify =
      data->add_subcommand("verify", "Sizes and hashes against the manifests and data.lock");
  verify->add_option("--data", options->data, "Folder of the datasets' files")->required();
  verify->add_option("names", options->names, "Datasets (default: all)");
  verify->add_option("--lock", options->lock,
                     "File that data fetch locked (default: data.lock in the folder)");
  verify->footer("Exit status: 0, or 3 where a file is wrong or a named dataset's is missing.");
  verify->callback([options, &context] { context.status = Verify(*options); });
  AddDataFetch(*data, context);
  CLI::App* path = data->add_subcommand("path", "Where a dataset's files are");
  path->add_option("name", options->name, "Dataset")->required();
  path->add_option(
      "--data", options->data,
      "Folder of the datasets' files (default: only Hugging Face caches are looked in)");
  path->callback([options] { Path(*options); });
}

}  // namespace natsl::cli
