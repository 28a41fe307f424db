// How a score is compared with the reference's published case of it.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>

#include "core/json.h"

namespace natsl::tasks::metrics {

/// Random resampling: 3 % on the error, 5 % of the interval's width on its ends.
inline std::string BootstrapDifference(const core::Json& expected, const core::Json& score,
                                       const std::string& where) {
  const auto at = [](const core::Json& object, const char* key) {
    return object.at(key).get<double>();
  };
  const double width = at(expected, "high") - at(expected, "low");
  const bool close = std::abs(at(expected, "se") - at(score, "se")) <= 0.03 * at(expected, "se") &&
                     std::abs(at(expected, "low") - at(score, "low")) <= 0.05 * width &&
                     std::abs(at(expected, "high") - at(score, "high")) <= 0.05 * width;
  return close ? "" : where + ": " + expected.dump() + " against " + score.dump();
}

/// The reference's value stands in `score`: numbers within 1e-9, {"raises"} as {"error"}.
inline std::string Difference(const core::Json& expected, const core::Json& score,
                              const std::string& where) {
  if (expected.is_object() && expected.contains("raises")) {
    return score.is_object() && score.contains("error") ? "" : where + ": expected an error";
  }
  if (expected.is_number()) {
    if (!score.is_number()) return where + ": " + score.dump();
    const double want = expected.get<double>(), got = score.get<double>();
    return std::abs(want - got) <= 1e-9 * std::max(1.0, std::abs(want))
               ? ""
               : where + ": " + expected.dump() + " against " + score.dump();
  }
  if (expected.is_object() && score.is_object()) {
    for (const auto& [key, value] : expected.items()) {
      if (key == "scipy_bootstrap") {
        if (auto text = BootstrapDifference(value, score.at(key), where); !text.empty())
          return text;
        continue;
      }
      if (!score.contains(key)) return where + "." + key + ": missing";
      if (auto text = Difference(value, score.at(key), where + "." + key); !text.empty()) {
        return text;
      }
    }
    for (const auto& [key, value] : score.items()) {
      if (key == "less" || key == "greater") continue;  // large samples list two-sided alone
      if (!expected.contains(key)) return where + "." + key + ": not expected";
    }
    return "";
  }
  if (expected.is_array() && score.is_array() && expected.size() == score.size()) {
    for (size_t i = 0; i < expected.size(); ++i) {
      const std::string element = where + "[" + std::to_string(i) + "]";
      if (auto text = Difference(expected[i], score[i], element); !text.empty()) return text;
    }
    return "";
  }
  return expected == score ? "" : where + ": " + expected.dump() + " against " + score.dump();
}

/// Whether a case of the metric `name` needs jieba's tables.
inline bool NeedsJieba(const std::string& name, const core::Json& sample) {
  if (name == "jieba_cut" || name.ends_with("_zh")) return name != "longbench_retrieval_zh";
  const core::Json extra = sample.value("extra", core::Json::object());
  const std::string metric = extra.value("metric", ""), dataset = extra.value("dataset", "");
  return metric == "qa_f1_zh" || metric == "rouge_zh" || dataset == "multifieldqa_zh" ||
         dataset == "dureader" || dataset == "vcsum";
}

}  // namespace natsl::tasks::metrics
