// `latency` and the latency side of `compare`, as processes: a tiny model, lengths to 4k.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "core/json.h"
#include "tests/cli/program.h"

namespace natsl::cli {
namespace {

using testing::HasSubstr;

const std::string kModels = NATSL_SOURCE_DIR "/samples/models/";
const std::string kBinary = NATSL_BINARY_DIR "/natsl-bench";

class Latency : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(NATSL_BINARY_DIR "/natsl_native.so")) {
      GTEST_SKIP() << "natsl_native is not built";
    }
  }

  static std::vector<std::string> Arguments(const std::string& model,
                                            const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {
        "latency", "--model", kModels + model, "--max-length", "8192", "--threads", "1", "--quiet"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }

  Outcome Measure(const std::string& model, const std::vector<std::string>& more) {
    return RunProgram(Arguments(model, more));
  }

  /// The stored run with samples of `seconds` each, a hundredth of them apart, as another run: what
  /// a comparison says of it doesn't depend on the machine's load.
  std::string OfSeconds(const std::string& run, double seconds, const std::string& name) {
    core::Json json = core::Json::parse(ReadText(run + "/latency.json"));
    for (core::Json& measurement : json["measurements"]) {
      core::Json samples = core::Json::array();
      for (int i = 0; i < 20; ++i) samples.push_back(seconds * (1 + i * 0.01));
      measurement["samples_seconds"] = samples;
    }
    WriteText(folder_.path() / name / "latency.json", json.dump());
    return folder_ / name;
  }

  /// A command for --confirm that measures nothing: it hands out a stored run.
  std::string Replay(const std::string& run) {
    const std::string script = folder_ / "replay.sh";
    WriteText(script,
              "run=$1\n"
              "while [ \"$1\" != --output ]; do shift; done\n"
              "mkdir -p \"$2\" && cp \"$run/latency.json\" \"$2/latency.json\"\n");
    return "sh " + script + " " + run;
  }

  /// A stored run with every sample times `factor`, as another run.
  std::string Scaled(const std::string& run, double factor, const std::string& name) {
    core::Json json = core::Json::parse(ReadText(run + "/latency.json"));
    for (core::Json& measurement : json["measurements"]) {
      for (core::Json& sample : measurement["samples_seconds"]) {
        sample = sample.get<double>() * factor;
      }
    }
    WriteText(folder_.path() / name / "latency.json", json.dump());
    return folder_ / name;
  }

  TestFolder folder_;
};

TEST_F(Latency, EndToEndAndTheGate) {
  const std::string out = folder_ / "run";
  const Outcome run =
      Measure("tiny-natsl-hybrid",
              {"--prompt", "1k-4k*2", "--new-tokens", "16", "--phases", "all", "--max-seconds",
               "0.2", "--baseline", kModels + "tiny-transformer", "--output", out});
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("t/s"));
  EXPECT_THAT(run.out, HasSubstr("pp4k"));
  EXPECT_THAT(run.out, HasSubstr("tg16@d4k"));
  const core::Json json = core::Json::parse(ReadText(out + "/latency.json"));
  EXPECT_TRUE(json["complete"].get<bool>());
  // 3 lengths x 6 phases x 2 models, tokenising of the subject alone.
  EXPECT_EQ(json["measurements"].size(), 33u);
  for (const core::Json& m : json["measurements"]) {
    EXPECT_GE(m["samples_seconds"].size(), 1u) << m["test"];
    EXPECT_GT(m["summary"]["median"].get<double>(), 0);
    if (m["point"]["phase"] == "tokenize") continue;
    // A decoding sample's first step, of one token, is not in its state's prefill.
    const int64_t depth = m["point"]["depth"].get<int64_t>();
    const int64_t fed = m["point"]["phase"] == "decode" ? depth - 1 : depth;
    EXPECT_EQ(m["memory"]["pass_tokens"], std::max(m["point"]["prompt"].get<int64_t>(), fed))
        << m["test"];
    EXPECT_GT(m["memory"]["kv_bytes"].get<int64_t>(), 0);
    EXPECT_GT(m["memory"]["peak_bytes"].get<int64_t>(), 0);
    EXPECT_GT(m["roofline"]["compute_share"].get<double>(), 0);
    EXPECT_LT(m["roofline"]["compute_share"].get<double>(), 1);
    EXPECT_EQ(m.contains("softmax_shares"), m["variant"] == 0) << m["test"];
  }
  EXPECT_EQ(json["speed_ups"].size(), 15u);
  EXPECT_GT(json["machine"]["canary"]["host_after"]["flops_per_second"].get<double>(), 1e8);
  for (const char* file : {"/latency.md", "/latency.html"}) {
    EXPECT_THAT(ReadText(out + file), HasSubstr("tg16@d4k"));
  }

  const std::string junit = folder_ / "junit.xml";
  const Outcome same =
      RunProgram({"compare", out, Scaled(out, 1, "same"), "--tolerance", "1", "--junit", junit});
  EXPECT_THAT(same.out, HasSubstr("SAME"));
  EXPECT_THAT(ReadText(junit), HasSubstr("name=\"pp4k\""));
  const Outcome slower = RunProgram({"compare", out, Scaled(out, 5, "slow"), "--tolerance", "1"});
  EXPECT_EQ(slower.status, 1) << slower.out << slower.err;
  EXPECT_THAT(slower.out, HasSubstr("SLOWER"));
}

TEST_F(Latency, CompareFailsClosedAndConfirms) {
  const std::string base = folder_ / "base";
  const std::vector<std::string> what = {"--prompt", "256,512",       "--phases",
                                         "prefill",  "--max-seconds", "0.1"};
  std::vector<std::string> more = what;
  more.insert(more.end(), {"--output", folder_ / "measured"});
  ASSERT_EQ(Measure("tiny-gdn-hybrid", more).status, 0);
  OfSeconds(folder_ / "measured", 0.001, "base");
  const std::string slow = OfSeconds(folder_ / "measured", 0.008, "slow");
  // The file says eight times as slow; what is run again says otherwise, or that it is so.
  const Outcome confirmed =
      RunProgram({"compare", base, slow, "--tolerance", "2", "--confirm", Replay(base),
                  Replay(OfSeconds(base, 0.00101, "same")), "--confirm-rounds", "3"});
  EXPECT_EQ(confirmed.status, 0) << confirmed.out << confirmed.err;
  EXPECT_THAT(confirmed.out, HasSubstr("confirmed by 3 runs"));
  EXPECT_THAT(confirmed.out, HasSubstr("SAME"));
  EXPECT_THAT(confirmed.err, HasSubstr("--only 'pp256,pp512' --output '"));
  const Outcome slower = RunProgram({"compare", base, slow, "--tolerance", "2", "--confirm",
                                     Replay(base), Replay(slow), "--confirm-rounds", "3"});
  EXPECT_EQ(slower.status, 1) << slower.out << slower.err;
  EXPECT_THAT(slower.out, HasSubstr("SLOWER"));
  // The program itself takes what --confirm puts behind a command; how fast it is isn't asked.
  std::string command = kBinary;
  for (const std::string& argument : Arguments("tiny-gdn-hybrid", what)) command += " " + argument;
  const Outcome measured =
      RunProgram({"compare", base, slow, "--confirm", command, command, "--confirm-rounds", "3"});
  EXPECT_THAT(measured.out, HasSubstr("confirmed by 3 runs")) << measured.err;
  const Outcome failed = RunProgram({"compare", base, slow, "--confirm", command, "false"});
  EXPECT_EQ(failed.status, 3) << failed.err;
  EXPECT_THAT(failed.err, HasSubstr("--confirm: the command ended with status 1"));

  core::Json json = core::Json::parse(ReadText(slow + "/latency.json"));
  json["measurements"].erase(1);
  WriteText(folder_.path() / "fewer.json", json.dump());
  EXPECT_EQ(RunProgram({"compare", base, folder_ / "fewer.json"}).status, 3);
  json["machine"]["cpu"] = "another";
  WriteText(folder_.path() / "other.json", json.dump());
  const Outcome other = RunProgram({"compare", base, folder_ / "other.json"});
  EXPECT_EQ(other.status, 3);
  EXPECT_THAT(other.err, HasSubstr("CPU"));
  EXPECT_THAT(other.err, HasSubstr("--force"));
  EXPECT_EQ(RunProgram({"compare", base, slow, "--gate", "x.json"}).status, 2);
  WriteText(folder_.path() / "broken.json", "{\"schema\": \"other\"}");
  EXPECT_EQ(RunProgram({"compare", base, folder_ / "broken.json"}).status, 3);
}

TEST_F(Latency, BadInputIsOneClearLine) {
  const std::string out = folder_ / "out";
  const auto refused = [&](const std::vector<std::string>& more, const char* part) {
    std::vector<std::string> arguments = more;
    if (std::find(more.begin(), more.end(), "--output") == more.end()) {
      arguments.insert(arguments.end(), {"--output", out});
    }
    const Outcome outcome = Measure("tiny-natsl-hybrid", arguments);
    EXPECT_EQ(outcome.status, 2) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(part));
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    EXPECT_FALSE(std::filesystem::exists(out));
  };
  refused({"--prompt", "0"}, "--prompt: \"0\" is 0, expected at least 1");
  refused({"--prompt", "4k-1k*2"}, "descends");
  refused({"--prompt", "16k"}, "pp16k needs 16384 tokens a sequence");
  refused({"--prompt", "8k", "--batch", "4m"}, "pp8kx4194304 needs about");
  refused({"--depth", "8k"}, "tg64@d8k needs 8256 tokens");
  refused({"--phases", "prefil"}, "is no phase");
  refused({"--only", "pp1k"}, "--only: \"pp1k\"");
  refused({"--softmax-share", "2"}, "is no share");
  refused({"--softmax-share", "0.5", "--output", "/proc/nowhere"}, "/proc/nowhere");
  EXPECT_EQ(Measure("tiny-natsl-hybrid", {"--baseline", folder_ / "none", "--output", out}).status,
            4);
  EXPECT_EQ(Measure("tiny-transformer", {"--softmax-share", "0.5", "--output", out}).status, 2);
  WriteText(folder_.path() / "old" / "latency.json", "{}");
  EXPECT_THAT(Measure("tiny-transformer", {"--output", folder_ / "old"}).err,
              HasSubstr("--overwrite"));
  const Outcome plan =
      Measure("tiny-transformer", {"--prompt", "1k,4k", "--batch", "1,8", "--plan"});
  EXPECT_EQ(plan.status, 0);
  EXPECT_THAT(plan.out, HasSubstr("pp4kx8"));
}

TEST_F(Latency, ForcedSharesSyntheticDepthAndScaling) {
  const std::string out = folder_ / "shares";
  const Outcome run =
      Measure("tiny-natsl-hybrid",
              {"--prompt", "1k,2k", "--depth", "4k", "--depth-state", "synthetic", "--new-tokens",
               "8", "--phases", "prefill,decode", "--softmax-share", "0,1", "--max-seconds", "0.2",
               "--expect", "quadratic", "--output", out});
  EXPECT_EQ(run.status, 6) << run.err;  // two lengths have no interval
  EXPECT_THAT(run.out, HasSubstr("needs three prompt lengths"));
  const core::Json json = core::Json::parse(ReadText(out + "/latency.json"));
  ASSERT_EQ(json["variants"].size(), 2u);
  int64_t kv[2] = {0, 0};
  for (const core::Json& m : json["measurements"]) {
    int64_t softmax = 0, chunks = 0;
    for (const core::Json& share : m.value("softmax_shares", core::Json::array())) {
      softmax += share["softmax_chunks"].get<int64_t>();
      chunks += share["chunks"].get<int64_t>();
    }
    EXPECT_EQ(softmax, m["variant"] == 0 ? 0 : chunks);
    if (m["test"] == "tg8@d4k") kv[m["variant"].get<size_t>()] = m["memory"]["kv_bytes"];
  }
  EXPECT_GT(kv[1], 10 * std::max<int64_t>(kv[0], 1));
}

TEST_F(Latency, ASignalKeepsThePointsSoFar) {
  const std::string out = folder_ / "stopped";
  BackgroundProgram program(
      Arguments("tiny-gdn-hybrid", {"--prompt", "64-4k+64", "--phases", "prefill", "--interval",
                                    "0", "--max-seconds", "0.3", "--output", out}));
  const auto measured = [&] {
    const std::string text =
        std::filesystem::exists(out + "/latency.json") ? ReadText(out + "/latency.json") : "";
    return text.find("\"test\"") != std::string::npos;
  };
  while (!program.Ended() && !measured()) std::this_thread::yield();
  program.Signal(SIGINT);
  EXPECT_EQ(program.Wait(), 130);
  const core::Json json = core::Json::parse(ReadText(out + "/latency.json"));
  EXPECT_FALSE(json["complete"].get<bool>());
  EXPECT_EQ(json["incomplete_because"], "stopped by a signal");
  EXPECT_GE(json["measurements"].size(), 1u);
  EXPECT_THAT(ReadText(out + "/latency.md"), HasSubstr("incomplete: stopped by a signal"));
}

}  // namespace
}  // namespace natsl::cli
