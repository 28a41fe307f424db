#include "evaluators/journal.h"

#include <algorithm>

#include "core/error.h"
#include "core/json_errors.h"

namespace natsl::evaluators {

std::string Differences(const Identity& stored, const Identity& now) {
  std::string text;
  const auto add = [&text](const std::string& name, const std::string& there,
                           const std::string& here) {
    if (!text.empty()) text += "; ";
    text += fmt::format("{}: {} there, {} now", name, there, here);
  };
  const auto value_in = [](const Identity& identity, const std::string& name) {
    const auto found = std::find_if(identity.begin(), identity.end(),
                                    [&](const auto& entry) { return entry.first == name; });
    return found == identity.end() ? std::string("absent") : found->second;
  };
  for (const auto& [name, value] : now) {
    const std::string there = value_in(stored, name);
    if (there != value) add(name, there, value);
  }
  for (const auto& [name, value] : stored) {
    if (value_in(now, name) == "absent" && value != "absent") add(name, value, "absent");
  }
  return text;
}

Journal::Journal(const std::filesystem::path& folder) : database_(folder / kFileName) {
  database_.Execute(
      "CREATE TABLE IF NOT EXISTS notes (name TEXT PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID;"
      "CREATE TABLE IF NOT EXISTS answers (kind INTEGER, request INTEGER, answer BLOB NOT NULL,"
      " PRIMARY KEY (kind, request))");
}

std::string Journal::Note(const std::string& name) {
  Statement select = database_.Prepare("SELECT text FROM notes WHERE name = ?");
  select.BindText(1, name);
  return select.Step() ? std::string(select.Bytes(0)) : "";
}

void Journal::SetNote(const std::string& name, std::string_view text) {
  Statement insert = database_.Prepare("INSERT OR REPLACE INTO notes VALUES (?, ?)");
  insert.BindText(1, name).BindText(2, text).Step();
}

Identity Journal::ReadIdentity(const std::string& part) {
  Identity identity;
  const std::string text = Note("identity." + part);
  if (text.empty()) return identity;
  const core::Json json = core::ParseJson(text, Journal::kFileName, ErrorCode::kData);
  core::WithJsonErrors(Journal::kFileName, ErrorCode::kData, [&] {
    for (const auto& [name, value] : json.items()) {
      identity.emplace_back(name, value.get<std::string>());
    }
  });
  return identity;
}

void Journal::WriteIdentity(const std::string& part, const Identity& identity) {
  core::Json json = core::Json::object();
  for (const auto& [name, value] : identity) json[name] = value;
  SetNote("identity." + part, json.dump());
}

int64_t Journal::Count() {
  Statement select = database_.Prepare("SELECT count(*) FROM answers");
  return select.Step() ? select.Int(0) : 0;
}

void Journal::Append(RequestKind kind,
                     const std::vector<std::pair<int64_t, std::string>>& answers) {
  Transaction transaction(database_);
  Statement insert = database_.Prepare("INSERT OR REPLACE INTO answers VALUES (?, ?, ?)");
  for (const auto& [index, bytes] : answers) {
    insert.Bind(1, static_cast<int64_t>(kind)).Bind(2, index).BindBlob(3, bytes).Step();
  }
  transaction.Commit();
}

}  // namespace natsl::evaluators
