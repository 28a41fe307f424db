// RULER's string matching.
#include "tasks/metrics/ruler.h"

#include <algorithm>

#include "core/error.h"
#include "core/statistics/python_arithmetic.h"
#include "core/utf8.h"
#include "tasks/metrics/python_text.h"

namespace natsl::tasks::metrics {
namespace {

int64_t CountMatches(std::string_view prediction, std::span<const std::string> references) {
  if (references.empty()) throw DataError("ruler: the answer list is empty");
  const std::string text = Lower(prediction);
  return std::count_if(references.begin(), references.end(), [&](const std::string& reference) {
    return text.find(Lower(reference)) != std::string::npos;
  });
}

double PercentOf(std::span<const std::string> predictions,
                 std::span<const std::vector<std::string>> references,
                 double (*score)(std::string_view, std::span<const std::string>)) {
  if (predictions.empty()) throw DataError("ruler: no predictions");
  double sum = 0;
  for (size_t i = 0; i < std::min(predictions.size(), references.size()); ++i) {
    sum += score(predictions[i], references[i]);
  }
  return core::statistics::PythonRound(sum / static_cast<double>(predictions.size()) * 100, 2);
}

}  // namespace

std::string RulerPostprocess(std::string_view prediction) {
  std::string text(core::PythonStrip(prediction));
  for (char& byte : text) {
    if (static_cast<unsigned char>(byte) < 0x20) byte = '\n';
  }
  return std::string(core::PythonStrip(text));
}

double RulerMatchShare(std::string_view prediction, std::span<const std::string> references) {
  const auto matches = static_cast<double>(CountMatches(prediction, references));
  return matches / static_cast<double>(references.size());
}

double RulerMatchAny(std::string_view prediction, std::span<const std::string> references) {
  return CountMatches(prediction, references) > 0 ? 1 : 0;
}

double RulerStringMatchAll(std::span<const std::string> predictions,
                           std::span<const std::vector<std::string>> references) {
  return PercentOf(predictions, references, RulerMatchShare);
}

double RulerStringMatchPart(std::span<const std::string> predictions,
                            std::span<const std::vector<std::string>> references) {
  return PercentOf(predictions, references, RulerMatchAny);
}

int64_t RulerNulls(std::span<const std::string> predictions) {
  return std::count_if(predictions.begin(), predictions.end(),
                       [](const std::string& prediction) { return prediction.empty(); });
}

double RulerAggregate(std::span<const double> values) {
  double sum = 0;
  int64_t count = 0;
  for (const double value : values) {
    if (value == -1) continue;
    sum += value;
    ++count;
  }
  return count == 0 ? -1 : sum / static_cast<double>(count);
}

}  // namespace natsl::tasks::metrics
