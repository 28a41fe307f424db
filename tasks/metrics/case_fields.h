// Reading the fields of metric cases, and writing scores.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/json.h"
#include "core/statistics/estimate.h"

namespace natsl::tasks::metrics {

using core::Json;

const Json& Field(const Json& sample, const char* name);
/// extra[name], or null.
const Json& Extra(const Json& sample, const char* name);

/// Each throws Error (data) that names `what` where the value has another shape.
std::string AsText(const Json& value, const char* what);
std::vector<std::string> AsTexts(const Json& value, const char* what);
std::vector<std::vector<std::string>> AsTextLists(const Json& value, const char* what);
/// A number, or one of "NaN", "Infinity", "-Infinity".
double AsNumber(const Json& value, const char* what);
std::vector<double> AsNumbers(const Json& value, const char* what);
std::vector<int64_t> AsIntegers(const Json& value, const char* what);

std::string Prediction(const Json& sample);
std::vector<std::string> References(const Json& sample);

Json NumberJson(double value);
/// The number, or an Error (data) with the reason why there is none.
Json ValueOrThrow(const core::statistics::Estimate& estimate);
/// The number, or {"error": why}.
Json ValueOrReason(const core::statistics::Estimate& estimate);
/// body(), or {"error": why} where it throws an Error.
Json ValueOrError(const std::function<Json()>& body);

}  // namespace natsl::tasks::metrics
