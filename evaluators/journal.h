// The durable record of a run in its output folder: what the run is, and every answer so far.
// A run that was killed reads it and goes on; `rescore` reads it without a model.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "evaluators/database.h"
#include "evaluators/request_plan.h"

namespace natsl::evaluators {

/// What must be the same for answers to belong together, by name, in a fixed order.
using Identity = std::vector<std::pair<std::string, std::string>>;

/// "dtype: bfloat16 there, float32 now; ..." for every name that differs; "" where none does.
std::string Differences(const Identity& stored, const Identity& now);

class Journal {
 public:
  static constexpr const char* kFileName = "journal.sqlite";

  explicit Journal(const std::filesystem::path& folder);

  /// Text under a name ("" where there is none): the identity's parts, the command's options.
  std::string Note(const std::string& name);
  void SetNote(const std::string& name, std::string_view text);
  Identity ReadIdentity(const std::string& part);
  void WriteIdentity(const std::string& part, const Identity& identity);

  /// Calls body(index, bytes) for every stored answer of a kind.
  template <typename Body>
  void ForEach(RequestKind kind, Body&& body) {
    Statement select = database_.Prepare("SELECT request, answer FROM answers WHERE kind = ?");
    select.Bind(1, static_cast<int64_t>(kind));
    while (select.Step()) body(select.Int(0), select.Bytes(1));
  }
  int64_t Count();
  /// Durable when it returns: all of them or none.
  void Append(RequestKind kind, const std::vector<std::pair<int64_t, std::string>>& answers);

 private:
  Database database_;
};

}  // namespace natsl::evaluators
