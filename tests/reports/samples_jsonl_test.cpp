// Rows of samples_*.jsonl, byte by byte.
#include "reports/samples_jsonl.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <limits>

#include "core/files.h"
#include "core/json.h"
#include "tests/process_folder.h"

namespace natsl::reports {
namespace {

SampleRecord Sample() {
  SampleRecord sample;
  sample.doc_id = 3;
  sample.id = "three";
  sample.doc_json = R"({"goal": "Öffnen?", "label": 0, "w": 1.0})";
  sample.target = "0";
  RequestRecord request;
  request.context = "Q\nA:";
  request.argument_json = R"(" yes")";
  request.response = {"-1.875", "False"};
  request.context_tokens = 4;
  request.output_tokens = 1;
  sample.requests.push_back(request);
  request.argument_json = R"(" no")";
  request.response = {"-1.375", "True"};
  request.truncated_tokens = 2;
  sample.requests.push_back(request);
  sample.metrics = {{"acc", {0.0}}};
  sample.doc_hash = "d";
  sample.prompt_hash = "p";
  sample.target_hash = "t";
  return sample;
}

TEST(SampleLine, HasTheReferencesShapeThenOurs) {
  EXPECT_EQ(
      SampleLine(Sample()),
      R"({"doc_id": 3, "doc": {"goal": "Öffnen?", "label": 0, "w": 1.0}, "target": "0", )"
      R"("arguments": {"gen_args_0": {"arg_0": "Q\nA:", "arg_1": " yes"}, )"
      R"("gen_args_1": {"arg_0": "Q\nA:", "arg_1": " no"}}, )"
      R"("resps": [[["-1.875", "False"]], [["-1.375", "True"]]], )"
      R"("filtered_resps": [["-1.875", "False"], ["-1.375", "True"]], "filter": "none", )"
      R"("metrics": ["acc"], "doc_hash": "d", "prompt_hash": "p", "target_hash": "t", "acc": 0.0, )"
      R"("id": "three", "context_tokens": [4, 4], "output_tokens": [1, 1], )"
      R"("truncated_tokens": [0, 2]})");
}

TEST(SampleLine, GenerationTellsWhatEndedIt) {
  SampleRecord sample = Sample();
  sample.requests.resize(1);
  sample.requests[0].argument_json = R"({"until": ["\n"], "max_gen_toks": 5})";
  sample.requests[0].response = {" Foo Bar"};
  sample.requests[0].finish = "stop";
  sample.filter = "remove_whitespace";
  sample.filtered = {"Foo Bar"};
  const core::Json json = core::Json::parse(SampleLine(sample));
  EXPECT_EQ(json["resps"].dump(), R"([[" Foo Bar"]])");
  EXPECT_EQ(json["filtered_resps"].dump(), R"(["Foo Bar"])");
  EXPECT_EQ(json["arguments"]["gen_args_0"]["arg_1"]["until"][0], "\n");
  EXPECT_EQ(json["finish"].dump(), R"(["stop"])");
}

TEST(SampleLine, NotScoredAndNotFiniteAreSaid) {
  SampleRecord sample = Sample();
  sample.metrics = {{"perplexity", {-std::numeric_limits<double>::infinity()}}};
  sample.not_scored = "request 0 failed: x";
  const core::Json json = core::Json::parse(SampleLine(sample));
  EXPECT_TRUE(json["perplexity"].is_null());
  EXPECT_EQ(json["perplexity_null_reason"], "negative infinite");
  EXPECT_EQ(json["not_scored"], "request 0 failed: x");
}

TEST(SamplesWriter, KeepsWhatIsAskedFor) {
  const std::filesystem::path file = tests::ProcessFolder() / "rows.jsonl";
  SampleRecord right = Sample();
  right.wrong = false;
  const auto lines = [&](LogSamples which) -> int64_t {
    std::filesystem::remove(file);
    SamplesWriter writer(file, which);
    writer.Add(Sample());
    writer.Add(right);
    writer.Finish();
    if (!std::filesystem::exists(file)) return -1;
    const std::string text = core::ReadFile(file, ErrorCode::kData);
    return std::count(text.begin(), text.end(), '\n');
  };
  EXPECT_EQ(lines(LogSamples::kAll), 2);
  EXPECT_EQ(lines(LogSamples::kWrong), 1);
  EXPECT_EQ(lines(LogSamples::kNone), -1);
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace natsl::reports
