// Every published case of the reference's scoring code, where those files are present.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "core/files.h"
#include "core/json.h"
#include "tasks/metrics/chinese_segmenter.h"
#include "tasks/metrics/registry.h"
#include "tests/tasks/metrics/golden_difference.h"

namespace natsl::tasks::metrics {
namespace {

using core::Json;

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
