#include "evaluators/database.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <cstring>
#include <utility>

#include "core/cast.h"
#include "core/error.h"

namespace natsl::evaluators {
namespace {

Error Failure(sqlite3* database, int code, const std::string& where) {
  std::string reason = database != nullptr ? sqlite3_errmsg(database) : sqlite3_errstr(code);
  const int primary = code & 0xff;
  if (primary == SQLITE_IOERR || primary == SQLITE_CANTOPEN) {
    // SQLite's own words are the same for a full disk, a limit and a locked folder.
    const int cause = database != nullptr ? sqlite3_system_errno(database) : 0;
    if (cause != 0) reason += fmt::format(": {}", std::strerror(cause));
  }
  switch (primary) {
    case SQLITE_FULL:
    case SQLITE_NOMEM:
      return InternalError("{}: {} (what was finished is kept: free space and run again)", where,
                           reason);
    case SQLITE_IOERR:
      return InternalError(
          "{}: {} (what was finished is kept: free space, or raise the limit of a file's size, "
          "ulimit -f, and run again)",
          where, reason);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return DataError("{}: {}: it isn't a database of natsl-bench; choose another folder or file",
                       where, reason);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return UsageError("{}: another process is using it: wait for it or choose another", where);
    default:
      return UsageError("{}: {}", where, reason);
  }
}

/// The file may come from elsewhere: nothing that it holds runs (triggers, views, functions in its
/// schema), and damaged pages are found rather than followed.
void DistrustContent(sqlite3* database) {
  sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  sqlite3_exec(database, "PRAGMA cell_size_check=ON", nullptr, nullptr, nullptr);
}

}  // namespace

Statement::Statement(sqlite3* database, std::string_view sql, std::string where)
    : database_(database), where_(std::move(where)) {
  const int code = sqlite3_prepare_v2(database_, sql.data(), core::CheckedCast<int>(sql.size()),
                                      &statement_, nullptr);
  if (code != SQLITE_OK) throw Failure(database_, code, where_);
}

Statement::~Statement() { sqlite3_finalize(statement_); }

Statement::Statement(Statement&& other) noexcept
    : database_(other.database_),
      statement_(std::exchange(other.statement_, nullptr)),
      where_(std::move(other.where_)) {}

Statement& Statement::Bind(int column, int64_t value) {
  sqlite3_bind_int64(statement_, column, value);
  return *this;
}

Statement& Statement::BindText(int column, std::string_view value) {
  sqlite3_bind_text64(statement_, column, value.data(), value.size(), SQLITE_TRANSIENT,
                      SQLITE_UTF8);
  return *this;
}

Statement& Statement::BindBlob(int column, std::string_view value) {
  sqlite3_bind_blob64(statement_, column, value.data(), value.size(), SQLITE_TRANSIENT);
  return *this;
}

bool Statement::Step() {
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  sqlite3_reset(statement_);
  if (code != SQLITE_DONE) throw Failure(database_, code, where_);
  return false;
}

void Statement::Reset() { sqlite3_reset(statement_); }

int64_t Statement::Int(int column) const { return sqlite3_column_int64(statement_, column); }

std::string_view Statement::Bytes(int column) const {
  const auto* data = static_cast<const char*>(sqlite3_column_blob(statement_, column));
  return {data, static_cast<size_t>(sqlite3_column_bytes(statement_, column))};
}

Database::Database(const std::filesystem::path& path) : where_(path.string()) {
  const int code = sqlite3_open_v2(path.c_str(), &database_,
                                   SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
  if (code != SQLITE_OK) {
    const Error error = Failure(database_, code, where_);
    sqlite3_close(database_);
    throw error;
  }
  sqlite3_busy_timeout(database_, 10000);
  DistrustContent(database_);
  try {
    Execute("PRAGMA journal_mode=WAL");
    Execute("PRAGMA synchronous=FULL");
  } catch (...) {
    sqlite3_close(database_);
    throw;
  }
}

Database::~Database() { sqlite3_close(database_); }

void Database::Execute(const char* sql) {
  const int code = sqlite3_exec(database_, sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) throw Failure(database_, code, where_);
}

Statement Database::Prepare(std::string_view sql) { return Statement(database_, sql, where_); }

Transaction::~Transaction() {
  if (!open_) return;
  try {
    database_.Execute("ROLLBACK");
  } catch (const Error&) {  // the failure that led here has rolled back already
  }
}

void Transaction::Commit() {
  database_.Execute("COMMIT");
  open_ = false;
}

}  // namespace natsl::evaluators
