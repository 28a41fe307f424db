// results.json: our versioned record, which also carries the keys that tools for
// lm-evaluation-harness's files read (results, groups, configs, versions, n-shot, ...).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "reports/run_record.h"

namespace natsl::reports {

/// Numbers that don't exist are null with "<key>_null_reason" beside them; an error that the
/// protocol doesn't define is the reference's "N/A". The same record gives the same bytes.
std::string ResultsJson(const RunRecord& record);

/// The record alone, as it stands under "natsl_bench".
nlohmann::ordered_json RecordJson(const RunRecord& record);
nlohmann::ordered_json ExecutionJson(const ExecutionRecord& execution);

/// timings.json: how this execution went.
std::string TimingsJson(const ExecutionRecord& execution);

/// "<metric>,<filter>" and "<metric>_stderr,<filter>".
std::string MetricKey(const MetricRecord& metric);
std::string StderrKey(const MetricRecord& metric);

/// Every run of the characters "<>:/|\?*[] as "__".
std::string SanitizedModelName(const std::string& name);

}  // namespace natsl::reports
