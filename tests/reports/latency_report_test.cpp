// latency.json there and back, Markdown, HTML, and comparisons of two latency runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "latency/record/summary.h"
#include "reports/latency_compare.h"
#include "reports/latency_html.h"
#include "reports/latency_json.h"
#include "reports/latency_markdown.h"
#include "tests/latency/example_record.h"
#include "tests/process_folder.h"

namespace natsl::reports {
namespace {

using latency::LatencyRecord;
using latency::Measurement;
using latency::Phase;
using testing::HasSubstr;
using testing::Not;

/// Linear subject, quadratic baseline, one decode point with steps and shares.
LatencyRecord Example() {
  LatencyRecord record = latency::ExampleRecord(
      {1024, 2048, 4096}, [](double l) { return 2e-3 + 1e-6 * l; },
      [](double l) { return 1e-4 + 1e-9 * l * l; });
  record.machine.host = "box";
  record.machine.boot_id = "b1";
  record.machine.cpu = "CPU <X>";
  record.machine.cores = 8;
  record.machine.canary_before = latency::CanaryRates{1e11, 2e10};
  record.machine.canary_after = latency::CanaryRates{1.01e11, 2e10};
  record.settings = {.interval_target = 0.01,
                     .seconds_per_point = 10,
                     .min_samples = 6,
                     .max_samples = 2000,
                     .depth_state = "prefill",
                     .ids = "random",
                     .seed = 0,
                     .batch_tokens = 8192,
                     .threads = 8};
  Measurement decode =
      latency::ExampleMeasurement(0, {.phase = Phase::kDecode, .depth = 4096, .new_tokens = 64},
                                  std::vector<double>{1e-3, 1.1e-3, 1.2e-3});
  decode.steps = {1e-3, 1e-3, 1.2e-3, 3e-3};
  decode.step_summary = latency::Summarize(decode.steps);
  decode.softmax_shares = {{1, 0, 10, 40}, {1, 1, 20, 40}};
  decode.labels = {"noisy: <shaken>"};
  record.measurements.push_back(decode);
  Analyze(record);
  return record;
}

/// The record as a file reads it back.
LatencyRecord Stored(const LatencyRecord& record, const std::string& name = "run") {
  const auto folder = tests::ProcessFolder() / ("latency-" + name);
  std::filesystem::create_directories(folder);
  core::WriteFileAtomic(folder / "latency.json", LatencyJson(record));
  EXPECT_TRUE(IsLatencyRun(folder));
  return ReadLatencyJson(folder);
}

LatencyRecord Scaled(LatencyRecord record, double factor) {
  for (Measurement& measurement : record.measurements) {
    for (double& sample : measurement.samples) sample *= factor;
    measurement.summary = latency::Summarize(measurement.samples);
  }
  return record;
}

TEST(LatencyJson, ReadsBackWhatComparisonsNeed) {
  const LatencyRecord record = Example(), stored = Stored(record);
  ASSERT_EQ(stored.measurements.size(), record.measurements.size());
  for (size_t i = 0; i < record.measurements.size(); ++i) {
    EXPECT_EQ(stored.measurements[i].point, record.measurements[i].point);
    EXPECT_EQ(stored.measurements[i].samples, record.measurements[i].samples);
    EXPECT_EQ(stored.measurements[i].summary.median, record.measurements[i].summary.median);
  }
  EXPECT_TRUE(Differences(record, stored).empty());
  EXPECT_EQ(LatencyJson(record), LatencyJson(record));
  const core::Json json = core::Json::parse(LatencyJson(record));
  EXPECT_EQ(json["schema"], "natsl-bench/latency");
  EXPECT_EQ(json["measurements"][0]["test"], "pp1k");
  EXPECT_EQ(json["measurements"][6]["summary"]["median_low_95"], nullptr);  // three samples
  EXPECT_EQ(json["crossovers"][0]["variant"], 0);
  EXPECT_EQ(json["measurements"][0]["memory"]["pass_tokens"], 1024);
  EXPECT_EQ(json["machine"].contains("gpu_before"), false);
}

TEST(LatencyJson, RefusesWhatItCantTrust) {
  const auto file = tests::ProcessFolder() / "latency-bad.json";
  const core::Json good = core::Json::parse(LatencyJson(Example()));
  const auto message = [&](const std::function<void(core::Json&)>& change) -> std::string {
    core::Json json = good;
    change(json);
    core::WriteFileAtomic(file, json.dump());
    try {
      ReadLatencyJson(file);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kData);
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(message([](core::Json&) {}), "no error");
  EXPECT_THAT(message([](core::Json& j) { j["schema"] = "other"; }), HasSubstr("schema"));
  EXPECT_THAT(message([](core::Json& j) { j["schema_version"] = 99; }), HasSubstr("99"));
  for (const core::Json& sample : {core::Json(0), core::Json(-1), core::Json(nullptr)}) {
    EXPECT_THAT(
        message([&](core::Json& j) { j["measurements"][2]["samples_seconds"][1] = sample; }),
        HasSubstr("measurements[2]"));
  }
  EXPECT_THAT(message([](core::Json& j) { j["measurements"][0]["variant"] = 2; }),
              HasSubstr("variant"));
  EXPECT_THAT(message([](core::Json& j) { j["measurements"][0]["point"]["phase"] = "x"; }),
              HasSubstr("phase"));
  EXPECT_NE(message([](core::Json& j) { j.erase("machine"); }), "no error");
}

TEST(LatencyMarkdown, HasLlamaBenchsColumnsAndTheDefinitions) {
  const std::string text = LatencyMarkdown(Example());
  EXPECT_THAT(LlamaBenchTable(Example()), HasSubstr("backend"));
  EXPECT_THAT(text, HasSubstr("test"));
  EXPECT_THAT(text, HasSubstr("|pp1k"));
  EXPECT_THAT(text, HasSubstr("|tg64@d4k"));
  EXPECT_THAT(text, HasSubstr("338624.34 ± 0.00"));  // 1024 tokens in 3.024 ms
  EXPECT_THAT(text, HasSubstr("- prefill: the prompt's ids enter an empty session"));
  EXPECT_THAT(text, HasSubstr("noisy: <shaken>"));
  EXPECT_THAT(text, HasSubstr("0.250 0.500"));  // heads of layer 1
}

TEST(LatencyHtml, ShowsEveryPlotAndIsDeterministic) {
  const std::string html = LatencyHtml(Example());
  EXPECT_EQ(html, LatencyHtml(Example()));
  for (const char* part :
       {"prefill: time against length", "a + bL + cL²", "prefill: speed-up against length",
        "memory of the states against length", "memory at pp4k", "decoding steps at depth 4k",
        "crossover", "noisy: &lt;shaken&gt;", "CPU &lt;X&gt;", "tg64@d4k"}) {
    EXPECT_THAT(html, HasSubstr(part));
  }
  EXPECT_THAT(html, Not(HasSubstr("<shaken>")));
  EXPECT_THAT(html, Not(HasSubstr("nan")));
  EXPECT_THAT(html, Not(HasSubstr("http-equiv=\"refresh\"")));
}

TEST(LatencyHtml, PlotsSpeedUpAgainstForcedShares) {
  LatencyRecord record = Example();
  record.measurements.clear();
  record.variants = {record.variants[0], record.variants[0], record.variants[1]};
  record.variants[1].label = "more";
  const latency::Point point{.phase = Phase::kPrefill, .prompt = 1024};
  for (const int64_t variant : {0, 1, 2}) {
    Measurement m = latency::ExampleMeasurement(
        variant, point, std::vector<double>(8, 1e-3 * static_cast<double>(1 + variant)));
    if (variant < 2) m.softmax_shares = {{0, 0, 10 + 20 * variant, 100}};
    record.measurements.push_back(m);
  }
  Analyze(record);
  EXPECT_THAT(LatencyHtml(record), HasSubstr("prefill: speed-up against softmax share"));
}

TEST(CompareLatency, VerdictsFromIntervalsAndTolerance) {
  const LatencyRecord base = Example();
  const LatencyCompareOptions options{.tolerance = 0.05};
  const auto verdict = [&](double factor) {
    return CompareLatency(base, Scaled(base, factor), options).points.front().verdict;
  };
  EXPECT_EQ(verdict(1.0), LatencyVerdict::kSame);
  EXPECT_EQ(verdict(1.04), LatencyVerdict::kSame);
  EXPECT_EQ(verdict(1.06), LatencyVerdict::kSlower);
  EXPECT_EQ(verdict(0.9), LatencyVerdict::kFaster);
  // Wide samples around the same median.
  LatencyRecord wide = base;
  wide.measurements[0].samples = {1e-3, 2e-3, 2.9e-3, 3.1e-3, 4e-3, 5e-3};
  wide.measurements[0].summary = latency::Summarize(wide.measurements[0].samples);
  const LatencyComparison comparison = CompareLatency(base, wide, options);
  int ambiguous = 0;
  for (const PointComparison& point : comparison.points) {
    ambiguous += point.verdict == LatencyVerdict::kAmbiguous;
  }
  EXPECT_EQ(ambiguous, 2);  // and the decode point, whose three samples have no interval
  EXPECT_EQ(Status(comparison), 6);
}

LatencyRecord WithoutDecode() {
  LatencyRecord record = Example();
  record.measurements.pop_back();
  return record;
}

TEST(CompareLatency, ExitStatusesFailClosed) {
  const LatencyRecord base = WithoutDecode();
  const auto status = [&](const LatencyRecord& changed) {
    return Status(CompareLatency(base, changed, {}));
  };
  EXPECT_EQ(status(base), 0);
  EXPECT_EQ(status(Scaled(base, 0.5)), 0);
  EXPECT_EQ(status(Scaled(base, 1.2)), 1);
  LatencyRecord fewer = base;
  fewer.measurements.pop_back();
  EXPECT_EQ(status(fewer), 3);
  EXPECT_EQ(Status(CompareLatency(fewer, base, {})), 3);
  LatencyRecord incomplete = base;
  incomplete.complete = false;
  EXPECT_EQ(status(incomplete), 3);
  LatencyRecord empty = base;
  empty.measurements.clear();
  EXPECT_EQ(Status(CompareLatency(empty, empty, {})), 3);
  LatencyRecord slower_and_missing = Scaled(fewer, 1.2);
  EXPECT_EQ(status(slower_and_missing), 3);
}

TEST(CompareLatency, RefusesOtherMachinesDtypesAndMethods) {
  const LatencyRecord base = WithoutDecode();
  const auto refused = [&](const std::function<void(LatencyRecord&)>& change) -> std::string {
    LatencyRecord changed = base;
    change(changed);
    EXPECT_NO_THROW(CompareLatency(base, changed, {.force = true}));
    try {
      CompareLatency(base, changed, {});
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kData);
      return error.what();
    }
    return "compared";
  };
  EXPECT_EQ(refused([](LatencyRecord& r) { r.machine.host = "container"; }), "compared");
  EXPECT_THAT(refused([](LatencyRecord& r) {
                r.machine.host = "other";
                r.machine.boot_id = "b2";
              }),
              HasSubstr("machine: \"box\" and \"other\""));
  EXPECT_THAT(refused([](LatencyRecord& r) { r.machine.cpu = "Y"; }), HasSubstr("CPU"));
  EXPECT_THAT(refused([](LatencyRecord& r) { r.machine.gpus.emplace_back().name = "G"; }),
              HasSubstr("GPU"));
  EXPECT_THAT(refused([](LatencyRecord& r) { r.method = "natsl-latency/0"; }), HasSubstr("method"));
  EXPECT_THAT(refused([](LatencyRecord& r) { r.settings.depth_state = "synthetic"; }),
              HasSubstr("synthetic"));
  EXPECT_THAT(refused([](LatencyRecord& r) { r.settings.threads = 1; }), HasSubstr("threads"));
  EXPECT_THAT(refused([](LatencyRecord& r) { r.variants[1].dtype = "bfloat16"; }),
              HasSubstr("baseline 1's dtype: \"float32\" and \"bfloat16\"; --force"));
  EXPECT_THAT(refused([](LatencyRecord& r) { r.variants[0].device = "cuda"; }),
              HasSubstr("device"));
}

TEST(CompareLatency, ConfirmationDecidesByPairedRounds) {
  const LatencyRecord base = WithoutDecode();
  LatencyComparison comparison = CompareLatency(base, Scaled(base, 1.2), {});
  PointComparison& point = comparison.points.front();
  ASSERT_EQ(point.verdict, LatencyVerdict::kSlower);
  // The machine's pace doubles between rounds; the pairs agree.
  Confirm(point, {1, 2, 4, 8, 16}, {1.001, 2.002, 3.99, 8.01, 16}, {});
  EXPECT_EQ(point.verdict, LatencyVerdict::kSame);
  EXPECT_EQ(point.confirmed_rounds, 5);
  EXPECT_NEAR(point.ratio, 1.0002, 1e-3);
  Confirm(point, {1, 2, 4}, {1.2, 2.4, 4.8}, {});
  EXPECT_EQ(point.verdict, LatencyVerdict::kSlower);
  EXPECT_NEAR(point.low, 1.2, 1e-9);
  Confirm(point, {1, 1, 1}, {0.8, 1.0, 1.3}, {});
  EXPECT_EQ(point.verdict, LatencyVerdict::kAmbiguous);
  EXPECT_THROW(Confirm(point, {1, 1}, {1, 1}, {}), Error);
  const std::string page = LatencyComparisonMarkdown(comparison, {});
  EXPECT_THAT(page, HasSubstr("confirmed by 3 runs of each side"));
  EXPECT_THAT(LatencyComparisonJunit(comparison), HasSubstr("<failure type=\"AMBIGUOUS\""));
}

}  // namespace
}  // namespace natsl::reports
