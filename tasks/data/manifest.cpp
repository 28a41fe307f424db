// Reading, finding and verifying by manifest.
#include "tasks/data/manifest.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "core/cast.h"
#include "core/error.h"
#include "core/hash.h"
#include "core/json.h"
#include "tasks/data/compressed.h"
#include "tasks/data/hub_cache.h"
#include "tasks/data/lock.h"
#include "tasks/data_source.h"
#include "tasks/nearest_names.h"

namespace natsl::tasks {
namespace fs = std::filesystem;
namespace {

void RequireKnown(const core::JsonObject& object, const std::set<std::string>& required,
                  const std::set<std::string>& optional) {
  for (const auto& [key, value] : object.json().items()) {
    if (!required.contains(key) && !optional.contains(key)) {
      std::set<std::string> known = required;
      known.insert(optional.begin(), optional.end());
      throw DataError("{}: unknown field \"{}\", expected one of {}", object.where(), key,
                      fmt::join(known, ", "));
    }
  }
  for (const std::string& key : required) object.At(key);
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

ManifestSource ParseSource(const core::JsonObject& object, bool has_hub) {
  RequireKnown(object, {}, {"url", "hub_path", "member"});
  if (object.Has("url") == object.Has("hub_path")) {
    throw DataError("{}: expected either \"url\" or \"hub_path\"", object.where());
  }
  ManifestSource source;
  if (object.Has("url")) {
    source.url = object.String("url");
    const std::string& url = source.url;
    const bool known = url.starts_with("https://") || url.starts_with("http://");
    if (!known || url.find_first_of(" \t\r\n@") != std::string::npos) {
      throw object.Wrong("url", "an address that starts with https:// or http://");
    }
  } else {
    source.hub_path = object.String("hub_path");
    if (!has_hub) throw object.Wrong("hub_path", "a manifest whose \"hub\" isn't null");
    if (!StaysBelow(source.hub_path)) throw object.Wrong("hub_path", "a path in the repository");
  }
  if (object.Has("member")) source.member = NonEmpty(object, "member");
  return source;
}

ManifestFile ParseFile(const core::JsonObject& object, bool has_hub) {
  RequireKnown(object, {"path", "split", "bytes", "sha256", "rows"}, {"sources"});
  ManifestFile file;
  file.path = NonEmpty(object, "path");
  if (!StaysBelow(file.path)) throw object.Wrong("path", "a path below the data folder");
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
  if (object.Has("sources")) {
    const core::Json& sources = object.At("sources");
    if (!sources.is_array()) throw object.Wrong("sources", "a list of sources");
    for (size_t i = 0; i < sources.size(); ++i) {
      const std::string where = fmt::format("{}: \"sources\"[{}]", object.where(), i);
      file.sources.push_back(
          ParseSource(core::JsonObject(sources[i], where, ErrorCode::kData), has_hub));
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

/// What a file must be, and who says so.
struct Expected {
  std::optional<int64_t> bytes;
  std::optional<std::string> sha256;
  std::string by;  ///< for people: "" the manifest, " (locked DATE)"
};

void Check(FileCheck& check, const Expected& file) {
  try {
    const FileBytes bytes = ReadPossiblyCompressed(check.found, check.file);
    check.bytes = core::Size(bytes.content());
    check.sha256 = core::Sha256Hex(bytes.content());
  } catch (const Error& error) {
    check.state = FileState::kUnreadable;
    check.detail = error.what();
    return;
  }
  if (file.bytes && *file.bytes != check.bytes) {
    check.state = FileState::kWrongSize;
    check.detail = fmt::format("{} bytes, expected {}{}", check.bytes, *file.bytes, file.by);
  } else if (file.sha256 && *file.sha256 != check.sha256) {
    check.state = FileState::kWrongHash;
    check.detail = fmt::format("SHA-256 {}, expected {}{}", check.sha256, *file.sha256, file.by);
  } else {
    check.state = file.sha256 || file.bytes ? FileState::kRight : FileState::kUnverified;
    check.detail = fmt::format("{} bytes, SHA-256 {}{}", check.bytes, check.sha256, file.by);
  }
}

Expected LockedAs(const LockedFile& locked) {
  return {locked.bytes, locked.sha256, fmt::format(" (locked on {})", locked.date)};
}

/// Whether a locked file is one of a hub repository, in the folder's own hub cache.
bool IsHubFile(const std::string& file) { return file.starts_with("datasets--"); }

}  // namespace

bool StaysBelow(std::string_view text) {
  const fs::path path(text);
  if (path.empty() || path.is_absolute() || text.find('\0') != std::string_view::npos) return false;
  return std::none_of(path.begin(), path.end(), [](const fs::path& part) {
    return part == ".." || part == "." || part.empty();
  });
}

Manifest ParseManifest(std::string_view text, const std::string& where) {
  const core::Json json = core::ParseJson(text, where, ErrorCode::kData, {.unique_keys = true});
  const core::JsonObject object(json, where, ErrorCode::kData);
  RequireKnown(object,
               {"schema", "name", "title", "home", "hub", "revision", "licence", "tasks", "layout",
                "fields", "files"},
               {"hub_files"});
  if (object.Int("schema") != 1) throw object.Wrong("schema", "1");
  Manifest manifest;
  manifest.name = NonEmpty(object, "name");
  const bool plain = std::all_of(manifest.name.begin(), manifest.name.end(), [](unsigned char c) {
    return c < 0x80 && (std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.');
  });
  if (!plain || manifest.name.starts_with('.')) {
    throw object.Wrong("name", "letters, digits, \"_\", \"-\" and \".\"");
  }
  manifest.title = NonEmpty(object, "title");
  manifest.home = NonEmpty(object, "home");
  if (object.Has("hub")) {
    manifest.hub = object.String("hub");
    if (std::count(manifest.hub.begin(), manifest.hub.end(), '/') != 1 ||
        !StaysBelow(manifest.hub)) {
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
    manifest.files.push_back(ParseFile(file, !manifest.hub.empty()));
    if (!paths.insert(manifest.files.back().path).second) {
      throw file.Wrong("path", "each path once");
    }
  }
  if (object.Has("hub_files")) {
    manifest.hub_files = object.Strings("hub_files");
    for (const std::string& pattern : manifest.hub_files) {
      if (manifest.hub.empty() || !StaysBelow(pattern)) {
        throw object.Wrong("hub_files", "paths in the hub repository");
      }
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

FileCheck VerifyFile(const fs::path& root, const Manifest& manifest, const ManifestFile& file,
                     const DataLock& lock) {
  FileCheck check;
  check.manifest = &manifest;
  check.file = file.path;
  check.found = FindFile(root, file.path);
  if (check.found.empty()) {
    check.detail = fmt::format("not in {}; published at {}", root.string(), manifest.home);
  } else {
    Expected expected{file.bytes, file.sha256, ""};
    const LockedFile* locked = lock.Find(manifest.name, file.path);
    if (locked != nullptr && !file.sha256) expected = LockedAs(*locked);
    Check(check, expected);
  }
  return check;
}

std::vector<FileCheck> VerifyData(const fs::path& root, const std::vector<std::string>& names,
                                  const DataLock& lock) {
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
      checks.push_back(VerifyFile(root, *manifest, file, lock));
    }
    for (const LockedFile& locked : lock.files()) {
      if (locked.name != manifest->name || !IsHubFile(locked.file)) continue;
      FileCheck check;
      check.manifest = manifest;
      check.file = locked.file;
      check.found = root / locked.file;
      if (fs::is_regular_file(check.found, error)) {
        Check(check, LockedAs(locked));
      } else {
        check.found.clear();
        check.detail = fmt::format("not in {}; locked on {}", root.string(), locked.date);
      }
      checks.push_back(std::move(check));
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
