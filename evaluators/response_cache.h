// Answers kept across runs, keyed by everything that can change them: the weights' and tokenizer's
// fingerprints, the model's settings and the exact request.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "evaluators/database.h"
#include "model_adapters/language_model.h"
#include "tasks/task.h"

namespace natsl::evaluators {

class ResponseCache {
 public:
  /// `scope`: text that tells this model with its settings from any other (CacheScope).
  ResponseCache(const std::filesystem::path& file, const std::string& scope);

  std::string Key(const tasks::Request& request) const;
  std::optional<std::string> Find(const std::string& key);
  void Append(const std::vector<std::pair<std::string, std::string>>& entries);

 private:
  Database database_;
  std::string scope_;
};

/// `extra`: further settings of the run that can change an answer (BOS and truncation policies).
std::string CacheScope(const model_adapters::ModelInfo& info,
                       const std::vector<std::pair<std::string, std::string>>& extra);

}  // namespace natsl::evaluators
