#include "evaluators/response_cache.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/hash.h"
#include "evaluators/request_plan.h"
#include "evaluators/response_codec.h"

namespace natsl::evaluators {

ResponseCache::ResponseCache(const std::filesystem::path& file, const std::string& scope)
    : database_(file), scope_(core::Sha256Hex(scope)) {
  {
    Statement others = database_.Prepare(
        "SELECT name FROM sqlite_master WHERE name != 'responses' AND name NOT LIKE 'sqlite!_%' "
        "ESCAPE '!'");
    if (others.Step()) {
      throw UsageError(
          "{}: is a database of something else (it holds \"{}\"); give a file of its own",
          file.string(), others.Bytes(0));
    }
  }
  database_.Execute(
      "CREATE TABLE IF NOT EXISTS responses (key TEXT PRIMARY KEY, answer BLOB NOT NULL)"
      " WITHOUT ROWID");
}

std::string ResponseCache::Key(const tasks::Request& request) const {
  return core::Sha256Hex(scope_ + RequestKey(request));
}

std::optional<std::string> ResponseCache::Find(const std::string& key) {
  Statement select = database_.Prepare("SELECT answer FROM responses WHERE key = ?");
  select.BindText(1, key);
  if (!select.Step()) return std::nullopt;
  return std::string(select.Bytes(0));
}

void ResponseCache::Append(const std::vector<std::pair<std::string, std::string>>& entries) {
  Transaction transaction(database_);
  Statement insert = database_.Prepare("INSERT OR IGNORE INTO responses VALUES (?, ?)");
  for (const auto& [key, bytes] : entries) insert.BindText(1, key).BindBlob(2, bytes).Step();
  transaction.Commit();
}

std::string CacheScope(const model_adapters::ModelInfo& info,
                       const std::vector<std::pair<std::string, std::string>>& extra) {
  std::string scope = fmt::format(
      "schema={}\nweights={}\ntokenizer={}\ndtype={}\ndevice={}\n"
      "max_length={}\n",
      kResponseSchema, info.weights_fingerprint, info.tokenizer_fingerprint, info.dtype,
      info.device, info.max_length);
  for (const auto& [name, value] : info.settings) scope += fmt::format("{}={}\n", name, value);
  for (const auto& [name, value] : extra) scope += fmt::format("{}={}\n", name, value);
  return scope;
}

}  // namespace natsl::evaluators
