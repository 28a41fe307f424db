// Every published case of the reference's scoring code, where those files are present.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <string>

#include "core/files.h"
#include "core/json.h"
#include "tasks/metrics/chinese_segmenter.h"
#include "tasks/metrics/registry.h"

namespace natsl::tasks::metrics {
namespace {

using core::Json;

/// Random resampling: 3 % on the error, 5 % of the interval's width on its ends.
std::string BootstrapDifference(const Json& expected, const Json& score, const std::string& where) {
  const auto at = [](const Json& object, const char* key) { return object.at(key).get<double>(); };
  const double width = at(expected, "high") - at(expected, "low");
  const bool close = std::abs(at(expected, "se") - at(score, "se")) <= 0.03 * at(expected, "se") &&
                     std::abs(at(expected, "low") - at(score, "low")) <= 0.05 * width &&
                     std::abs(at(expected, "high") - at(score, "high")) <= 0.05 * width;
  return close ? "" : where + ": " + expected.dump() + " against " + score.dump();
}

/// The reference's value stands in `score`: numbers within 1e-9, {"raises"} as {"error"}.
std::string Difference(const Json& expected, const Json& score, const std::string& where) {
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

bool NeedsJieba(const std::string& name, const Json& sample) {
  if (name == "jieba_cut" || name.ends_with("_zh")) return name != "longbench_retrieval_zh";
  const Json extra = sample.value("extra", Json::object());
  const std::string metric = extra.value("metric", ""), dataset = extra.value("dataset", "");
  return metric == "qa_f1_zh" || metric == "rouge_zh" || dataset == "multifieldqa_zh" ||
         dataset == "dureader" || dataset == "vcsum";
}

class GoldenMetric : public ::testing::TestWithParam<MetricEntry> {};

TEST_P(GoldenMetric, EqualsTheReference) {
  const std::string name = GetParam().name;
  const std::filesystem::path path =
      std::filesystem::path(NATSL_SOURCE_DIR) / "../shared/golden/metrics" / (name + ".jsonl");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no reference cases: " << path;
  const bool jieba = std::filesystem::exists(DefaultJiebaFolder() / "dict.txt");
  const std::string text = core::ReadFile(path, ErrorCode::kData);
  int64_t cases = 0, skipped = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = text.find('\n', begin);
    const Json sample =
        core::ParseJson(text.substr(begin, end - begin), path.string(), ErrorCode::kData);
    begin = end + 1;
    if (!jieba && NeedsJieba(name, sample)) {
      ++skipped;
      continue;
    }
    ++cases;
    Json score;
    try {
      score = ScoreMetricCase(name, sample);
    } catch (const Error& error) {
      score = Json{{"error", error.what()}};
    }
    const std::string id = sample.at("id").get<std::string>();
    EXPECT_EQ(Difference(sample.at("expected"), score, id), "");
  }
  if (cases == 0) {
    GTEST_SKIP() << skipped << " cases need jieba's tables in " << DefaultJiebaFolder();
  }
  if (skipped > 0)
    std::cout << name << ": " << skipped << " cases skipped without jieba's tables\n";
}

INSTANTIATE_TEST_SUITE_P(All, GoldenMetric, ::testing::ValuesIn(Metrics()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace natsl::tasks::metrics
