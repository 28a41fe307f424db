// A thin owner of an SQLite database and its statements: errors become natsl::Error.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace natsl::evaluators {

class Statement {
 public:
  Statement(sqlite3* database, std::string_view sql, std::string where);
  ~Statement();
  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&&) = delete;

  Statement& Bind(int column, int64_t value);  ///< columns count from 1
  Statement& BindText(int column, std::string_view value);
  Statement& BindBlob(int column, std::string_view value);
  /// True: a row is there. False: done; the statement is ready for the next use.
  bool Step();
  void Reset();

  int64_t Int(int column) const;             ///< result columns count from 0
  std::string_view Bytes(int column) const;  ///< valid until the next step

 private:
  sqlite3* database_;
  sqlite3_stmt* statement_ = nullptr;
  std::string where_;
};

class Database {
 public:
  /// Opens or creates. In WAL mode with full synchronisation a committed transaction survives a
  /// kill and a power cut. Throws Error (usage: can't be opened; internal: disk full; data: the
  /// file isn't a database).
  explicit Database(const std::filesystem::path& path);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  void Execute(const char* sql);
  Statement Prepare(std::string_view sql);

 private:
  sqlite3* database_ = nullptr;
  std::string where_;
};

/// Rolls back unless committed.
class Transaction {
 public:
  explicit Transaction(Database& database) : database_(database) {
    database_.Execute("BEGIN IMMEDIATE");
  }
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void Commit();

 private:
  Database& database_;
  bool open_ = true;
};

}  // namespace natsl::evaluators
