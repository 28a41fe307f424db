// RULER's string matching, in NVIDIA's form over a set and in the harness's form a document.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace natsl::tasks::metrics {

/// Both ends stripped, control characters U+0000..U+001F turned into newlines, stripped again.
std::string RulerPostprocess(std::string_view prediction);

/// Share of the references that occur in the (post-processed) prediction, both lower-cased. Throws
/// Error (data) for no references.
double RulerMatchShare(std::string_view prediction, std::span<const std::string> references);
/// 1 if any reference occurs, else 0. Throws Error (data) for no references.
double RulerMatchAny(std::string_view prediction, std::span<const std::string> references);

/// NVIDIA's scores of a set of post-processed predictions, 0 to 100 with 2 decimals. Pairs beyond
/// the shorter list are left out, but the divisor is the number of predictions. Throws Error (data)
/// for no predictions.
double RulerStringMatchAll(std::span<const std::string> predictions,
                           std::span<const std::vector<std::string>> references);
double RulerStringMatchPart(std::span<const std::string> predictions,
                            std::span<const std::vector<std::string>> references);

/// Number of empty predictions.
int64_t RulerNulls(std::span<const std::string> predictions);

/// The harness's aggregate of one length: the mean of the values that aren't -1 (documents of
/// another length); -1 for none.
double RulerAggregate(std::span<const double> values);

}  // namespace natsl::tasks::metrics
