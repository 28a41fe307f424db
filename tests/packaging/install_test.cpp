// The installed tree and the package: they run from where they are put, and say what they lack.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>

#include "core/build_info.h"
#include "core/cache.h"
#include "core/json.h"
#include "tests/cli/program.h"

namespace natsl {
namespace {

namespace fs = std::filesystem;
using cli::Outcome;
using cli::ReadText;
using cli::TestFolder;
using testing::HasSubstr;

/// Runs a shell command.
Outcome Shell(const std::string& command) {
  const TestFolder folder;
  const std::string redirected =
      fmt::format("{{ {}\n}} >'{}' 2>'{}' </dev/null", command, folder / "out", folder / "err");
  const int status = std::system(redirected.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
          ReadText(folder / "out"), ReadText(folder / "err")};
}

/// Where the build's natsl_native finds LibTorch.
constexpr const char* kTorch = NATSL_TORCH_LIBRARIES;

/// Makes a module's or program's run path lead nowhere, with a path of the same length.
void BreakRunPath(const fs::path& module) {
  std::string bytes = ReadText(module);
  const std::string path = kTorch;
  std::string nowhere = path;
  nowhere[1] = nowhere[1] == '-' ? '_' : '-';
  size_t found = 0;
  for (size_t at = 0; (at = bytes.find(path, at)) != std::string::npos; ++found) {
    bytes.replace(at, path.size(), nowhere);
  }
  ASSERT_GT(found, 0U);
  const fs::perms permissions = fs::status(module).permissions();
  fs::remove(module);
  cli::WriteText(module, bytes);
  fs::permissions(module, permissions);
}

class InstallTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TestFolder;
    const Outcome outcome = Shell(fmt::format("'{}' --install '{}' --prefix '{}'", NATSL_CMAKE,
                                              NATSL_BUILD_DIR, *folder_ / "first"));
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    // Not where it was installed: the tree may be moved.
    fs::rename(*folder_ / "first", Prefix());
  }
  static void TearDownTestSuite() { delete folder_; }

  static std::string Prefix() { return *folder_ / "moved tree"; }
  static std::string Evaluate(const std::string& prefix, const std::string& output) {
    return fmt::format(
        "cd '{0}/share/natsl-bench' && '{0}/bin/natsl-bench' run --model "
        "samples/models/tiny-natsl-hybrid --data samples/data --tasks piqa "
        "--output '{1}' --quiet",
        prefix, output);
  }
  static TestFolder* folder_;
};
TestFolder* InstallTest::folder_ = nullptr;

TEST_F(InstallTest, HasItsPlaces) {
  for (const char* file :
       {"bin/natsl-bench", "lib/natsl-bench/natsl_native.so", "share/man/man1/natsl-bench.1",
        "share/bash-completion/completions/natsl-bench",
        "share/zsh/vendor-completions/_natsl-bench",
        "share/fish/vendor_completions.d/natsl-bench.fish",
        "share/natsl-bench/samples/models/tiny-transformer/config.json",
        "share/natsl-bench/data_manifests/piqa.json", "share/natsl-bench/examples/ci/evaluate.sh",
        "share/doc/natsl-bench/README.md", "share/doc/natsl-bench/installing.md"}) {
    EXPECT_TRUE(fs::exists(fs::path(Prefix()) / file)) << file;
  }
  EXPECT_EQ(ReadText(fs::path(Prefix()) / "share/man/man1/natsl-bench.1"),
            cli::RunProgram({"help", "--man"}).out);
}

TEST_F(InstallTest, LoadsItsOwnModulesAndEvaluates) {
  const Outcome version = Shell("'" + Prefix() + "/bin/natsl-bench' --version --json");
  ASSERT_EQ(version.status, 0) << version.err;
  const core::Json modules = core::Json::parse(version.out)["modules"];
  for (const auto& [name, file] : modules.items()) {
    if (file.is_null()) continue;
    EXPECT_EQ(file, Prefix() + "/lib/natsl-bench/" + name + ".so");
  }
  const Outcome run = Shell(Evaluate(Prefix(), *folder_ / "run"));
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_TRUE(fs::exists(*folder_ / "run/results.json"));
}

TEST_F(InstallTest, ItsParquetReaderComesWithIt) {
  const std::string module = Prefix() + "/lib/natsl-bench/natsl_parquet.so";
  if (!fs::exists(module)) GTEST_SKIP() << "built without Arrow";
  const Outcome outcome = Shell("ldd '" + module + "'");
  EXPECT_THAT(outcome.out, HasSubstr("=> " + Prefix() + "/lib/natsl-bench/libparquet.so"));
  EXPECT_THAT(outcome.out, testing::Not(HasSubstr("not found")));
}

TEST_F(InstallTest, WithoutLibTorchItSaysWhatToDo) {
  const std::string prefix = *folder_ / "without";
  fs::copy(Prefix(), prefix, fs::copy_options::recursive);
  fs::remove_all(prefix + "/lib/natsl-bench/libtorch");
  BreakRunPath(prefix + "/lib/natsl-bench/natsl_native.so");
  const std::string unset = "unset NATSL_LIBTORCH XDG_CACHE_HOME; export HOME=/nowhere; ";
  const Outcome lost = Shell(unset + Evaluate(prefix, *folder_ / "lost"));
  EXPECT_EQ(lost.status, 5) << lost.err;
  EXPECT_THAT(lost.err, HasSubstr("lib/natsl-bench/natsl_native.so does not load: lib"));
  EXPECT_THAT(lost.err, HasSubstr("unpacks it into /nowhere/.cache/natsl-bench"));
  EXPECT_THAT(lost.err, HasSubstr("set NATSL_LIBTORCH to a folder"));
  // What needs no checkpoint still works.
  EXPECT_EQ(Shell(unset + "'" + prefix + "/bin/natsl-bench' list tasks").status, 0);
  const Outcome wrong =
      Shell(unset + "export NATSL_LIBTORCH=/wrong; " + Evaluate(prefix, *folder_ / "wrong"));
  EXPECT_EQ(wrong.status, 2);
  EXPECT_THAT(wrong.err, HasSubstr("NATSL_LIBTORCH: /wrong/torch/lib/libc10.so is not there"));
  const std::string libtorch = fs::path(kTorch).parent_path().parent_path();
  const Outcome told = Shell(unset + "export NATSL_LIBTORCH='" + libtorch + "'; " +
                             Evaluate(prefix, *folder_ / "told"));
  EXPECT_EQ(told.status, 0) << told.err;
  // The user's cache, wherever it is.
  const std::string cache = *folder_ / "cache";
  fs::create_directories(cache + "/natsl-bench");
  fs::create_directory_symlink(libtorch,
                               cache + "/natsl-bench/libtorch-" + core::ThisBuild().libtorch);
  const Outcome cached = Shell(unset + "export XDG_CACHE_HOME='" + cache + "'; " +
                               Evaluate(prefix, *folder_ / "cached"));
  EXPECT_EQ(cached.status, 0) << cached.err;
}

// As a package that holds LibTorch is laid out, on a machine where the build's own isn't.
TEST_F(InstallTest, TheTrainerRunsWithTheLibTorchBesideIt) {
  const std::string prefix = *folder_ / "trainer";
  fs::copy(Prefix(), prefix, fs::copy_options::recursive);
  const fs::path bundled = prefix + "/lib/natsl-bench/libtorch";
  fs::remove_all(bundled);
  BreakRunPath(prefix + "/bin/natsl-train");
  const std::string data = prefix + "/share/natsl-bench/";
  const std::string command = fmt::format(
      "env -i '{}/bin/natsl-train' --config '{}samples/models/tiny-gdn-hybrid/config.json' "
      "--tokenizer '{}samples/models/tiny-gdn-hybrid' --output '{}' --steps 2 --warmup 1 "
      "--batch-tokens 128 --context 64 --threads 1",
      prefix, data, data, *folder_ / "trained");
  const Outcome lost = Shell(command);
  EXPECT_EQ(lost.status, 127);
  EXPECT_THAT(lost.err, HasSubstr("cannot open shared object file"));
  fs::create_directory_symlink(fs::path(kTorch).parent_path().parent_path(), bundled);
  const Outcome trained = Shell(command);
  EXPECT_EQ(trained.status, 0) << trained.err;
  EXPECT_THAT(trained.out, HasSubstr("step 2 of 2, loss "));
}

TEST_F(InstallTest, ThePackageUnpacksAndRuns) {
  if (Shell("command -v dpkg-deb dpkg-shlibdeps").status != 0) GTEST_SKIP() << "no dpkg-dev here";
  const std::string out = *folder_ / "packages";
  const Outcome made = Shell(fmt::format("cd '{}' && cpack -G DEB -B '{}'", NATSL_BUILD_DIR, out));
  ASSERT_EQ(made.status, 0) << made.out << made.err;
  const std::string package = out + "/natsl-bench_" + core::ThisBuild().version + "_*.deb";
  const Outcome fields = Shell("dpkg-deb --field " + package + " Package Version Depends");
  EXPECT_THAT(fields.out, HasSubstr("Package: natsl-bench\n"));
  for (const char* library : {"libc6", "libcurl4", "libgomp1", "libicu", "libre2", "libsqlite3-0",
                              "libsentencepiece0", "libssl3", "zlib1g"}) {
    EXPECT_THAT(fields.out, HasSubstr(library));
  }
  EXPECT_THAT(fields.out, testing::Not(HasSubstr("openmpi")));
  const std::string root = *folder_ / "root";
  const Outcome unpacked = Shell("dpkg-deb -x " + package + " '" + root + "'");
  ASSERT_EQ(unpacked.status, 0) << unpacked.err;
  EXPECT_EQ(Shell("'" + root + "/usr/bin/natsl-bench' --version").out,
            "natsl-bench " + core::ThisBuild().version + "\n");
  const Outcome run = Shell(Evaluate(root + "/usr", *folder_ / "packaged"));
  EXPECT_EQ(run.status, 0) << run.err;
}

}  // namespace
}  // namespace natsl
