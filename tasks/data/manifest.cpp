// Reading, finding and verifying by manifest.
#include "tasks/data/manifest.h"

#include <algorithm>
#include <set>

#include "core/cast.h"
#include "core/error.h"
#include "core/hash.h"
#include "core/json.h"
#include "tasks/data/compressed.h"
#include "tasks/data/hub_cache.h"
#include "tasks/data_source.h"
#include "tasks/nearest_names.h"

namespace natsl::tasks {
namespace fs = std::filesystem;
namespace {

void RequireKnown(const core::JsonObject& object, const std::set<std::string>& known) {
  for (const auto& [key, value] : object.json().items()) {
    if (!known.contains(key)) {
      throw DataError("{}: unknown field \"{}\", expected one of {}", object.where(), key,
                      fmt::join(known, ", "));
    }
  }
  for (const std::string& key : known) object.At(key);
}

std::optional<int64_t> OptionalCount(const core::JsonObject& object, const char* key) {
  if (!object.Has(key)) return std::nullopt;
  const int64_t value = object.Int(key);
  if (value < 1) throw object.Wrong(key, "a number of at least 1, or null");
  return value;
}

std::string NonEmpty(const core::JsonObject& object, const char* key) {
  std::string text = object.String(key);
  if (text.empty()) throw object.Wrong(key, "a text that isn't empty");
  return text;
}

ManifestFile ParseFile(const core::JsonObject& object) {
  RequireKnown(object, {"path", "split", "bytes", "sha256", "rows"});
  ManifestFile file;
  file.path = NonEmpty(object, "path");
  const fs::path path(file.path);
  const bool leaves = std::find(path.begin(), path.end(), fs::path("..")) != path.end();
  if (path.is_absolute() || leaves) {
    throw object.Wrong("path", "a path below the data folder");
  }
  file.split = object.String("split");
  if (file.split != "train" && file.split != "validation" && file.split != "test") {
    throw object.Wrong("split", "train, validation or test");
  }
  file.bytes = OptionalCount(object, "bytes");
  file.rows = OptionalCount(object, "rows");
  if (object.Has("sha256")) {
    file.sha256 = object.String("sha256");
    const auto is_hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
    if (file.sha256->size() != 64 ||
        !std::all_of(file.sha256->begin(), file.sha256->end(), is_hex)) {
      throw object.Wrong("sha256", "64 lower-case hex digits, or null");
    }
  }
  return file;
}

std::vector<Manifest> AllManifests() {
  std::vector<Manifest> all;
  for (const EmbeddedFile& file : EmbeddedManifests()) {
    all.push_back(ParseManifest(file.content, fmt::format("data_manifests/{}", file.name)));
  }
  std::sort(all.begin(), all.end(),
            [](const Manifest& a, const Manifest& b) { return a.name < b.name; });
  return all;
}

/// The file itself or its compressed form; empty where neither is there.
fs::path FindFile(const fs::path& root, const std::string& path) {
  std::error_code error;
  for (const char* ending : {"", ".gz", ".zst"}) {
    fs::path candidate = root / (path + ending);
    if (fs::is_regular_file(candidate, error)) return candidate;
  }
  return {};
}

void Check(FileCheck& check) {
  const ManifestFile& file = *check.file;
  try {
    const FileBytes bytes = ReadPossiblyCompressed(check.found, file.path);
    check.bytes = core::Size(bytes.content());
    check.sha256 = core::Sha256Hex(bytes.content());
  } catch (const Error& error) {
    check.state = FileState::kUnreadable;
    check.detail = error.what();
    return;
  }
  if (file.bytes && *file.bytes != check.bytes) {
    check.state = FileState::kWrongSize;
    check.detail = fmt::format("{} bytes, expected {}", check.bytes, *file.bytes);
  } else if (file.sha256 && *file.sha256 != check.sha256) {
    check.state = FileState::kWrongHash;
    check.detail = fmt::format("SHA-256 {}, expected {}", check.sha256, *file.sha256);
  } else {
    check.state = file.sha256 || file.bytes ? FileState::kRight : FileState::kUnverified;
    check.detail = fmt::format("{} bytes, SHA-256 {}", check.bytes, check.sha256);
  }
}

}  // namespace

Manifest ParseManifest(std::string_view text, const std::string& where) {
  const core::Json json = core::ParseJson(text, where, ErrorCode::kData, {.unique_keys = true});
  const core::JsonObject object(json, where, ErrorCode::kData);
  RequireKnown(object, {"schema", "name", "title", "home", "hub", "revision", "licence", "tasks",
                        "layout", "fields", "files"});
  if (object.Int("schema") != 1) throw object.Wrong("schema", "1");
  Manifest manifest;
  manifest.name = NonEmpty(object, "name");
  manifest.title = NonEmpty(object, "title");
  manifest.home = NonEmpty(object, "home");
  if (object.Has("hub")) {
    manifest.hub = object.String("hub");
    if (std::count(manifest.hub.begin(), manifest.hub.end(), '/') != 1) {
      throw object.Wrong("hub", "ORG/NAME, or null");
    }
  }
  if (object.Has("revision")) manifest.revision = NonEmpty(object, "revision");
  manifest.licence = NonEmpty(object, "licence");
  manifest.tasks = object.Strings("tasks");
  manifest.layout = NonEmpty(object, "layout");
  const core::JsonObject fields = object.Object("fields");
  for (const auto& [key, value] : fields.json().items()) {
    manifest.fields.emplace_back(key, fields.String(key));
  }
  if (manifest.fields.empty()) throw object.Wrong("fields", "at least one field");
  const core::Json& files = object.At("files");
  if (!files.is_array() || files.empty())
    throw object.Wrong("files", "a list of at least one file");
  std::set<std::string> paths;
  for (size_t i = 0; i < files.size(); ++i) {
    const core::JsonObject file(files[i], fmt::format("{}: \"files\"[{}]", where, i),
                                ErrorCode::kData);
    manifest.files.push_back(ParseFile(file));
    if (!paths.insert(manifest.files.back().path).second) {
      throw file.Wrong("path", "each path once");
    }
  }
  return manifest;
}

const std::vector<Manifest>& Manifests() {
  static const std::vector<Manifest> manifests = AllManifests();
  return manifests;
}

const Manifest& FindManifest(const std::string& name) {
  std::vector<std::string> names;
  for (const Manifest& manifest : Manifests()) {
    if (manifest.name == name) return manifest;
    names.push_back(manifest.name);
  }
  const auto nearest = NearestNames(name, names);
  throw UsageError(
      "unknown dataset '{}'{}; `natsl-bench list datasets` names all", name,
      nearest.empty() ? "" : fmt::format(", did you mean {}?", fmt::join(nearest, ", ")));
}

FileCheck VerifyFile(const fs::path& root, const Manifest& manifest, const ManifestFile& file) {
  FileCheck check;
  check.manifest = &manifest;
  check.file = &file;
  check.found = FindFile(root, file.path);
  if (check.found.empty()) {
    check.detail = fmt::format("not in {}; published at {}", root.string(), manifest.home);
  } else {
    Check(check);
  }
  return check;
}

std::vector<FileCheck> VerifyData(const fs::path& root, const std::vector<std::string>& names) {
  std::error_code error;
  if (!fs::is_directory(root, error)) {
    throw DataError("{}: not a folder; --data DIR names the data folder", root.string());
  }
  std::vector<const Manifest*> manifests;
  for (const std::string& name : names) manifests.push_back(&FindManifest(name));
  if (names.empty()) {
    for (const Manifest& manifest : Manifests()) manifests.push_back(&manifest);
  }
  std::vector<FileCheck> checks;
  for (const Manifest* manifest : manifests) {
    for (const ManifestFile& file : manifest->files) {
      checks.push_back(VerifyFile(root, *manifest, file));
    }
  }
  return checks;
}

DatasetLocation LocateDataset(const fs::path& root, const Manifest& manifest) {
  DatasetLocation location;
  for (const ManifestFile& file : manifest.files) {
    if (root.empty()) break;
    fs::path found = FindFile(root, file.path);
    if (!found.empty()) location.files.push_back(std::move(found));
  }
  if (!manifest.hub.empty()) {
    for (const char* depth : {"*", "*/*", "*/*/*"}) {
      for (fs::path& file : FindInHub(root, manifest.hub + ":" + depth)) {
        location.hub_files.push_back(std::move(file));
      }
    }
  }
  return location;
}

}  // namespace natsl::tasks
