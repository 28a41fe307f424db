// Dataset manifests: each of the repository's, the schema's rules, and verification of a folder.
#include "tasks/data/manifest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/hash.h"
#include "tasks/data/hub_cache.h"
#include "tasks/data/lock.h"
#include "tasks/registry.h"
#include "tests/tasks/golden_support.h"

namespace natsl::tasks {
namespace {

using ::testing::TestWithParam;
using ::testing::ValuesIn;

TEST(ManifestTest, EveryFileOfTheTreeIsBuiltInAndNamedAfterItself) {
  std::set<std::string> in_tree;
  for (const auto& entry : std::filesystem::directory_iterator(
           std::filesystem::path(NATSL_SOURCE_DIR) / "data_manifests")) {
    if (entry.path().extension() == ".json") in_tree.insert(entry.path().stem().string());
  }
  std::set<std::string> built_in;
  for (const Manifest& manifest : Manifests()) {
    EXPECT_TRUE(built_in.insert(manifest.name).second) << manifest.name;
  }
  EXPECT_EQ(in_tree, built_in);
  for (const EmbeddedFile& file : EmbeddedManifests()) {
    EXPECT_EQ(std::string(file.name), ParseManifest(file.content, file.name).name + ".json");
  }
}

TEST(ManifestTest, FilesAreThoseTheTasksRead) {
  testing::TemporaryFolder folder;
  // Every task of these tables finds what its manifest lists first.
  for (const TaskEntry& task : Tasks()) {
    const TaskCard card = task.card();
    const auto found = std::find_if(Manifests().begin(), Manifests().end(),
                                    [&](const Manifest& m) { return m.name == card.dataset; });
    if (found == Manifests().end() || card.protocol != "lm-evaluation-harness 0.4.13") continue;
    EXPECT_EQ(found->files.front().split, card.split) << card.name;
  }
}

/// `tasks` of a manifest, where `*` stands for any run of characters.
bool Names(const Manifest& manifest, const std::string& task) {
  return std::any_of(manifest.tasks.begin(), manifest.tasks.end(),
                     [&](const std::string& pattern) { return MatchesGlob(task, pattern); });
}

TEST(ManifestTest, EveryDatasetOfACardHasOneThatNamesTheTask) {
  for (const TaskEntry& task : Tasks()) {
    const std::string dataset = task.card().dataset;
    // Generated documents, and the user's own text.
    if (dataset == "generated" || dataset == "text") continue;
    EXPECT_TRUE(Names(FindManifest(dataset), task.name)) << task.name << ": " << dataset;
  }
  for (const Manifest& manifest : Manifests()) {
    for (const std::string& pattern : manifest.tasks) {
      EXPECT_TRUE(std::any_of(Tasks().begin(), Tasks().end(),
                              [&](const TaskEntry& task) {
                                return MatchesGlob(task.name, pattern) &&
                                       task.card().dataset == manifest.name;
                              }))
          << manifest.name << " names " << pattern;
    }
  }
}

TEST(ManifestTest, KnownHash) {
  const Manifest& wikitext = FindManifest("wikitext");
  ASSERT_EQ(wikitext.files.size(), 1U);
  EXPECT_EQ(wikitext.files[0].bytes, 1290590);
  EXPECT_EQ(wikitext.files[0].sha256,
            "173c87a53759e0201f33e0ccf978e510c2042d7f2cb78229d9a50d79b9e7dd08");
}

TEST(ManifestTest, UnknownDatasetSuggestsTheNearest) {
  try {
    FindManifest("helaswag");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUsage);
    EXPECT_STREQ(error.what(),
                 "unknown dataset 'helaswag', did you mean hellaswag?; `natsl-bench list datasets` "
                 "names all");
  }
}

core::Json Valid() {
  return core::Json::parse(
      R"({"schema": 1, "name": "toy", "title": "Toy", "home": "here", "hub": null,
    "revision": null, "licence": "none", "tasks": [], "layout": "jsonl", "fields": {"text": "string"},
    "files": [{"path": "toy/a.jsonl", "split": "test", "bytes": 12, "sha256": null, "rows": 1}]})");
}

struct BadManifest {
  const char* name;
  void (*change)(core::Json&);
  const char* message;
};

class BadManifestTest : public TestWithParam<BadManifest> {};

TEST_P(BadManifestTest, IsRefused) {
  core::Json json = Valid();
  GetParam().change(json);
  try {
    ParseManifest(json.dump(), "m.json");
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kData);
    EXPECT_EQ(std::string(error.what()), GetParam().message);
  }
}

const BadManifest kBadManifests[] = {
    {"NoName", [](core::Json& j) { j.erase("name"); }, "m.json: the field \"name\" is missing"},
    {"EmptyName", [](core::Json& j) { j["name"] = ""; },
     "m.json: \"name\" is \"\" (string), expected a text that isn't empty"},
    {"NameOfAPath", [](core::Json& j) { j["name"] = "../toy"; },
     "m.json: \"name\" is \"../toy\" (string), expected letters, digits, \"_\", \"-\" and \".\""},
    {"OtherSchema", [](core::Json& j) { j["schema"] = 2; },
     "m.json: \"schema\" is 2 (number), expected 1"},
    {"UnknownField", [](core::Json& j) { j["license"] = "x"; },
     "m.json: unknown field \"license\", expected one of fields, files, home, hub, "
     "hub_files, layout, licence, name, revision, schema, tasks, title"},
    {"NoFiles", [](core::Json& j) { j["files"] = core::Json::array(); },
     "m.json: \"files\" is [] (array), expected a list of at least one file"},
    {"NoFields", [](core::Json& j) { j["fields"] = core::Json::object(); },
     "m.json: \"fields\" is {} (object), expected at least one field"},
    {"Hub", [](core::Json& j) { j["hub"] = "piqa"; },
     "m.json: \"hub\" is \"piqa\" (string), expected ORG/NAME, or null"},
    {"Split", [](core::Json& j) { j["files"][0]["split"] = "dev"; },
     "m.json: \"files\"[0]: \"split\" is \"dev\" (string), expected train, validation or test"},
    {"Hash", [](core::Json& j) { j["files"][0]["sha256"] = "ABC"; },
     "m.json: \"files\"[0]: \"sha256\" is \"ABC\" (string), expected 64 lower-case hex digits, or "
     "null"},
    {"Bytes", [](core::Json& j) { j["files"][0]["bytes"] = 0; },
     "m.json: \"files\"[0]: \"bytes\" is 0 (number), expected a number of at least 1, or null"},
    {"Leaves", [](core::Json& j) { j["files"][0]["path"] = "../a"; },
     "m.json: \"files\"[0]: \"path\" is \"../a\" (string), expected a path below the data folder"},
    {"NoAddress",
     [](core::Json& j) { j["files"][0]["sources"] = core::Json::parse(R"([{"member": "a"}])"); },
     "m.json: \"files\"[0]: \"sources\"[0]: expected either \"url\" or \"hub_path\""},
    {"OtherAddress",
     [](core::Json& j) {
       j["files"][0]["sources"] = core::Json::parse(R"([{"url": "file:///etc/passwd"}])");
     },
     "m.json: \"files\"[0]: \"sources\"[0]: \"url\" is \"file:///etc/passwd\" (string), expected "
     "an address that starts with https:// or http://"},
    {"HubPathLeaves",
     [](core::Json& j) {
       j["hub"] = "a/b";
       j["files"][0]["sources"] = core::Json::parse(R"([{"hub_path": "../x"}])");
     },
     "m.json: \"files\"[0]: \"sources\"[0]: \"hub_path\" is \"../x\" (string), expected a path in "
     "the repository"},
    {"HubPathWithoutHub",
     [](core::Json& j) { j["files"][0]["sources"] = core::Json::parse(R"([{"hub_path": "x"}])"); },
     "m.json: \"files\"[0]: \"sources\"[0]: \"hub_path\" is \"x\" (string), expected a manifest "
     "whose \"hub\" isn't null"},
    {"HubFilesWithoutHub", [](core::Json& j) { j["hub_files"] = core::Json::parse(R"(["a*"])"); },
     "m.json: \"hub_files\" is [\"a*\"] (array), expected paths in the hub repository"},
    {"Twice", [](core::Json& j) { j["files"].push_back(j["files"][0]); },
     "m.json: \"files\"[1]: \"path\" is \"toy/a.jsonl\" (string), expected each path once"},
};
INSTANTIATE_TEST_SUITE_P(All, BadManifestTest, ValuesIn(kBadManifests),
                         [](const auto& info) { return std::string(info.param.name); });

FileCheck CheckOf(const std::vector<FileCheck>& checks, const std::string& path) {
  for (const FileCheck& check : checks) {
    if (check.file == path) return check;
  }
  ADD_FAILURE() << path;
  return {};
}

TEST(VerifyDataTest, SaysMissingWrongAndUnverified) {
  testing::TemporaryFolder folder;
  folder.Write("piqa/valid.jsonl", "{}\n");
  folder.Write("piqa/valid-labels.lst", "0\n");
  folder.Write("wikitext/wikitext-2-raw/wiki.test.raw", "short");
  folder.Write("sciq/test.json.gz", "not gzip");
  const auto checks = VerifyData(folder.path(), {"piqa", "wikitext", "sciq"}, {});
  ASSERT_EQ(checks.size(), 7U);
  const FileCheck wrong_hash = CheckOf(checks, "piqa/valid.jsonl");
  EXPECT_EQ(wrong_hash.state, FileState::kWrongHash);
  EXPECT_EQ(wrong_hash.sha256, core::Sha256Hex("{}\n"));
  EXPECT_EQ(wrong_hash.bytes, 3);
  EXPECT_EQ(CheckOf(checks, "piqa/valid-labels.lst").state, FileState::kUnverified);
  EXPECT_EQ(CheckOf(checks, "piqa/train.jsonl").state, FileState::kMissing);
  const FileCheck wrong_size = CheckOf(checks, "wikitext/wikitext-2-raw/wiki.test.raw");
  EXPECT_EQ(wrong_size.state, FileState::kWrongSize);
  EXPECT_EQ(wrong_size.detail, "5 bytes, expected 1290590");
  EXPECT_EQ(CheckOf(checks, "sciq/test.json").state, FileState::kUnreadable);
}

TEST(VerifyDataTest, RightBySizeAndHashOfTheUnpackedBytes) {
  testing::TemporaryFolder folder;
  folder.Write("toy/a.jsonl", "{\"text\": 1}\n");
  Manifest toy = ParseManifest(Valid().dump(), "m.json");
  EXPECT_EQ(VerifyFile(folder.path(), toy, toy.files[0], {}).state, FileState::kRight);  // by size
  toy.files[0].sha256 = core::Sha256Hex("{\"text\": 1}\n");
  EXPECT_EQ(VerifyFile(folder.path(), toy, toy.files[0], {}).state, FileState::kRight);
  toy.files[0].sha256 = core::Sha256Hex("{\"text\": 2}\n");
  EXPECT_EQ(VerifyFile(folder.path(), toy, toy.files[0], {}).state, FileState::kWrongHash);
  toy.files[0].bytes = std::nullopt;
  toy.files[0].sha256 = std::nullopt;
  EXPECT_EQ(VerifyFile(folder.path(), toy, toy.files[0], {}).state, FileState::kUnverified);
}

TEST(VerifyDataTest, TheLockKnowsWhatTheManifestDoesNot) {
  testing::TemporaryFolder folder;
  folder.Write("toy/a.jsonl", "{\"text\": 1}\n");
  Manifest toy = ParseManifest(Valid().dump(), "m.json");
  DataLock lock;
  lock.Put(
      {"toy", "toy/a.jsonl", 12, core::Sha256Hex("{\"text\": 1}\n"), "https://x/a", "2025-01-02"});
  EXPECT_EQ(VerifyFile(folder.path(), toy, toy.files[0], lock).state, FileState::kRight);
  folder.Write("toy/a.jsonl", "{\"text\": 2}\n");
  const FileCheck other = VerifyFile(folder.path(), toy, toy.files[0], lock);
  EXPECT_EQ(other.state, FileState::kWrongHash);
  EXPECT_EQ(other.detail, "SHA-256 " + core::Sha256Hex("{\"text\": 2}\n") + ", expected " +
                              core::Sha256Hex("{\"text\": 1}\n") + " (locked on 2025-01-02)");
  // What the manifest itself knows goes before.
  toy.files[0].sha256 = core::Sha256Hex("{\"text\": 2}\n");
  EXPECT_EQ(VerifyFile(folder.path(), toy, toy.files[0], lock).state, FileState::kRight);
}

TEST(DataLockTest, ComesBackAsWrittenAndSorted) {
  DataLock lock;
  const std::string hash(64, 'a');
  lock.Put({"b", "b/x", 1, hash, "https://x", "2025-01-02"});
  lock.Put({"a", "a/y", 2, hash, "https://y", "2025-01-02"});
  lock.Put({"b", "b/x", 3, hash, "https://z", "2025-01-03"});
  ASSERT_EQ(lock.files().size(), 2U);
  const DataLock again(lock.ToJson(), "data.lock");
  EXPECT_EQ(again.ToJson(), lock.ToJson());
  EXPECT_EQ(again.files()[0].name, "a");
  EXPECT_EQ(again.Find("b", "b/x")->bytes, 3);
  EXPECT_EQ(again.Find("b", "b/y"), nullptr);
  lock.Remove("b", "b/x");
  EXPECT_EQ(lock.Find("b", "b/x"), nullptr);
}

TEST(DataLockTest, DamagedOnesAreRefused) {
  const auto message = [](const std::string& text) -> std::string {
    try {
      DataLock(text, "data.lock");
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(message(R"({"schema": 2, "files": []})"),
            "data.lock: \"schema\" is 2 (number), expected 1");
  EXPECT_EQ(
      message(R"({"schema": 1, "files": [{"name": "a", "file": "../a"}]})"),
      "data.lock: \"files\"[0]: \"file\" is \"../a\" (string), expected a path below the data "
      "folder");
}

TEST(VerifyDataTest, BadArguments) {
  EXPECT_THROW(VerifyData("/nonexistent", {}, {}), Error);
  testing::TemporaryFolder folder;
  EXPECT_THROW(VerifyData(folder.path(), {"nothing"}, {}), Error);
  for (const FileCheck& check : VerifyData(folder.path(), {}, {})) {
    EXPECT_EQ(check.state, FileState::kMissing);
  }
}

TEST(LocateDatasetTest, FindsFilesAndHubCache) {
  testing::TemporaryFolder folder;
  folder.Write("piqa/valid.jsonl", "{}\n");
  folder.Write("datasets--baber--piqa/refs/main", "bbb\n");
  folder.Write("datasets--baber--piqa/snapshots/bbb/plain_text/validation-0.parquet", "x");
  folder.Write("datasets--baber--piqa/snapshots/ccc/plain_text/validation-0.parquet", "x");
  const auto location = LocateDataset(folder.path(), FindManifest("piqa"));
  ASSERT_EQ(location.files.size(), 1U);
  EXPECT_EQ(location.files[0], folder.path() / "piqa" / "valid.jsonl");
  ASSERT_EQ(location.hub_files.size(), 1U);
  EXPECT_NE(location.hub_files[0].string().find("/bbb/"), std::string::npos);
}

}  // namespace
}  // namespace natsl::tasks
