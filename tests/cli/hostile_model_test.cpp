// Nothing from a model folder is executed: code, pickles, libraries and templates in it are files
// that nobody opens.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/cli/program.h"

namespace natsl::cli {
namespace {

namespace fs = std::filesystem;

class HostileModelTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const auto& entry :
         fs::directory_iterator(NATSL_SOURCE_DIR "/samples/models/tiny-gdn-hybrid")) {
      WriteText(folder_ / ("model/" + entry.path().filename().string()), ReadText(entry.path()));
    }
    // Whatever would run one of these leaves a trace.
    const std::string script = "#!/bin/sh\ntouch '" + Trace() + "'\n";
    for (const char* name : {"modeling_evil.py", "tokenization_evil.py", "setup.sh", "sh",
                             "python3", "natsl_native.so", "natsl_parquet.so", "libtorch_cpu.so"}) {
      WriteText(folder_ / (std::string("model/") + name), script);
      fs::permissions(folder_ / (std::string("model/") + name), fs::perms::owner_all);
    }
    // A pickle whose loading runs a command.
    WriteText(folder_ / "model/pytorch_model.bin",
              "cposix\nsystem\n(S'touch " + Trace() + "'\ntR.");
    WriteText(folder_ / "model/tokenizer_config.json",
              R"({"auto_map": {"AutoTokenizer": ["tokenization_evil.Evil", null]},
                  "chat_template": "{{ cycler.__init__.__globals__.os.system('touch )" +
                  Trace() + R"(') }}"})");
    std::string config = ReadText(folder_ / "model/config.json");
    config.insert(config.find('{') + 1,
                  R"("auto_map": {"AutoModelForCausalLM": "modeling_evil.Evil"}, )");
    WriteText(folder_ / "model/config.json", config);
  }
  std::string Trace() const { return folder_ / "trace"; }
  /// In the folder, with the folder in front of every search path.
  Outcome Run(const std::vector<std::string>& arguments, const std::string& input = "") const {
    const std::string model = folder_ / "model";
    return RunProgram(
        arguments, input,
        {"env", "-C", model, "PATH=" + model + ":/usr/bin:/bin", "PYTHONPATH=" + model});
  }

  TestFolder folder_;
};

TEST_F(HostileModelTest, OpeningItRunsNothing) {
  const Outcome model = Run({"inspect", "model", "--model", folder_ / "model"});
  EXPECT_EQ(model.status, 0) << model.err;
  const Outcome tokens =
      Run({"inspect", "tokens", "--tokenizer", folder_ / "model"}, "{\"text\": \"hello\"}\n");
  EXPECT_EQ(tokens.status, 0) << tokens.err;
  EXPECT_FALSE(fs::exists(Trace()));
}

TEST_F(HostileModelTest, RunningItRunsNothingElse) {
  if (!fs::exists(NATSL_BINARY_DIR "/natsl_native.so")) {
    GTEST_SKIP() << "natsl_native isn't built";
  }
  WritePiqa(folder_ / "data", 2);
  const Outcome outcome = Run({"run", "--model", folder_ / "model", "--tasks", "piqa", "--data",
                               folder_ / "data", "--output", folder_ / "out", "--quiet"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_FALSE(fs::exists(Trace()));
}

}  // namespace
}  // namespace natsl::cli
