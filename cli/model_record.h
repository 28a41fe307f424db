// A model's description as a report carries it, and as a run's journal keeps it.
#pragma once

#include <string>

#include "model_adapters/language_model.h"
#include "reports/run_record.h"

namespace natsl::cli {

reports::ModelRecord ToRecord(const model_adapters::ModelInfo& info);
std::string ToJson(const reports::ModelRecord& model);
reports::ModelRecord ModelFromJson(const std::string& json);
std::string ToJson(const std::vector<reports::Setting>& settings);
std::vector<reports::Setting> SettingsFromJson(const std::string& json);

}  // namespace natsl::cli
