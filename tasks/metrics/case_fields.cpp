// Reading the fields of metric cases, and writing scores.
#include "tasks/metrics/case_fields.h"

#include <cmath>
#include <limits>

#include "core/error.h"

namespace natsl::tasks::metrics {
namespace {

Error Wrong(const Json& value, const char* what, const char* expected) {
  return DataError("{} is {}, expected {}", what, core::Describe(value), expected);
}

const Json& Elements(const Json& value, const char* what, const char* expected) {
  if (!value.is_array()) throw Wrong(value, what, expected);
  return value;
}

}  // namespace

const Json& Field(const Json& sample, const char* name) {
  if (!sample.is_object()) throw Wrong(sample, "the case", "an object");
  const auto found = sample.find(name);
  if (found == sample.end()) throw DataError("the case has no \"{}\"", name);
  return *found;
}

const Json& Extra(const Json& sample, const char* name) {
  static const Json null;
  const auto extra = sample.find("extra");
  if (extra == sample.end() || !extra->is_object()) return null;
  const auto found = extra->find(name);
  return found == extra->end() ? null : *found;
}

std::string AsText(const Json& value, const char* what) {
  if (!value.is_string()) throw Wrong(value, what, "a string");
  return value.get<std::string>();
}

std::vector<std::string> AsTexts(const Json& value, const char* what) {
  std::vector<std::string> texts;
  for (const Json& element : Elements(value, what, "a list of strings")) {
    texts.push_back(AsText(element, what));
  }
  return texts;
}

std::vector<std::vector<std::string>> AsTextLists(const Json& value, const char* what) {
  std::vector<std::vector<std::string>> lists;
  for (const Json& element : Elements(value, what, "a list of lists of strings")) {
    lists.push_back(AsTexts(element, what));
  }
  return lists;
}

double AsNumber(const Json& value, const char* what) {
  if (value.is_number()) return value.get<double>();
  if (value == "NaN") return std::nan("");
  if (value == "Infinity") return std::numeric_limits<double>::infinity();
  if (value == "-Infinity") return -std::numeric_limits<double>::infinity();
  throw Wrong(value, what, "a number");
}

std::vector<double> AsNumbers(const Json& value, const char* what) {
  std::vector<double> numbers;
  for (const Json& element : Elements(value, what, "a list of numbers")) {
    numbers.push_back(AsNumber(element, what));
  }
  return numbers;
}

std::vector<int64_t> AsIntegers(const Json& value, const char* what) {
  std::vector<int64_t> numbers;
  for (const Json& element : Elements(value, what, "a list of integers")) {
    if (!element.is_number_integer()) throw Wrong(element, what, "an integer");
    numbers.push_back(element.get<int64_t>());
  }
  return numbers;
}

std::string Prediction(const Json& sample) {
  return AsText(Field(sample, "prediction"), "prediction");
}

std::vector<std::string> References(const Json& sample) {
  return AsTexts(Field(sample, "references"), "references");
}

Json NumberJson(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return value;
}

Json ValueOrThrow(const core::statistics::Estimate& estimate) {
  if (!estimate.has_value()) throw DataError("no value: {}", estimate.because());
  return NumberJson(estimate.value());
}

Json ValueOrReason(const core::statistics::Estimate& estimate) {
  if (!estimate.has_value()) return Json{{"error", estimate.because()}};
  return NumberJson(estimate.value());
}

Json ValueOrError(const std::function<Json()>& body) {
  try {
    return body();
  } catch (const Error& error) {
    return Json{{"error", error.what()}};
  }
}

}  // namespace natsl::tasks::metrics
