#include "tasks/data/lock.h"

#include <algorithm>
#include <utility>

#include "core/files.h"
#include "core/json.h"
#include "core/limits.h"
#include "tasks/data/manifest.h"

namespace natsl::tasks {
namespace {

bool Before(const LockedFile& a, std::string_view name, std::string_view file) {
  return std::pair<std::string_view, std::string_view>(a.name, a.file) < std::pair(name, file);
}

LockedFile ReadEntry(const core::JsonObject& object) {
  LockedFile entry;
  entry.name = object.String("name");
  entry.file = object.String("file");
  if (!StaysBelow(entry.file)) throw object.Wrong("file", "a path below the data folder");
  entry.bytes = object.Int("bytes");
  if (entry.bytes < 0) throw object.Wrong("bytes", "a size");
  entry.sha256 = object.String("sha256");
  if (entry.sha256.size() != 64) throw object.Wrong("sha256", "64 hex digits");
  entry.url = object.String("url");
  entry.date = object.String("date");
  return entry;
}

}  // namespace

DataLock::DataLock(std::string_view text, const std::string& where) {
  const core::Json json = core::ParseJson(text, where, ErrorCode::kData, {.unique_keys = true});
  const core::JsonObject object(json, where, ErrorCode::kData);
  if (object.Int("schema") != 1) throw object.Wrong("schema", "1");
  const core::Json& files = object.At("files");
  if (!files.is_array()) throw object.Wrong("files", "a list");
  for (size_t i = 0; i < files.size(); ++i) {
    const core::JsonObject entry(files[i], fmt::format("{}: \"files\"[{}]", where, i),
                                 ErrorCode::kData);
    LockedFile file = ReadEntry(entry);
    if (Find(file.name, file.file) != nullptr) throw entry.Wrong("file", "each file once");
    Put(std::move(file));
  }
}

DataLock DataLock::Read(const std::filesystem::path& file) {
  std::error_code error;
  if (!std::filesystem::exists(file, error) && !error) return {};
  return DataLock(core::ReadFile(file, ErrorCode::kData, limits::kMaxLockBytes), file.string());
}

const LockedFile* DataLock::Find(std::string_view name, std::string_view file) const {
  const auto found = std::lower_bound(
      files_.begin(), files_.end(), std::pair(name, file),
      [](const LockedFile& a, const auto& key) { return Before(a, key.first, key.second); });
  if (found == files_.end() || found->name != name || found->file != file) return nullptr;
  return &*found;
}

void DataLock::Put(LockedFile file) {
  const auto place = std::lower_bound(
      files_.begin(), files_.end(), file,
      [](const LockedFile& a, const LockedFile& b) { return Before(a, b.name, b.file); });
  if (place != files_.end() && place->name == file.name && place->file == file.file) {
    *place = std::move(file);
  } else {
    files_.insert(place, std::move(file));
  }
}

void DataLock::Remove(const std::string& name, const std::string& file) {
  std::erase_if(files_,
                [&](const LockedFile& one) { return one.name == name && one.file == file; });
}

std::string DataLock::ToJson() const {
  core::Json json;
  json["schema"] = 1;
  json["files"] = core::Json::array();
  for (const LockedFile& file : files_) {
    json["files"].push_back({{"name", file.name},
                             {"file", file.file},
                             {"bytes", file.bytes},
                             {"sha256", file.sha256},
                             {"url", file.url},
                             {"date", file.date}});
  }
  return json.dump(2) + "\n";
}

}  // namespace natsl::tasks
