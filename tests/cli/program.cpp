#include "tests/cli/program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "core/hash.h"
#include "core/json.h"

namespace natsl::cli {
namespace {

namespace fs = std::filesystem;

const std::string kProgram = std::string(NATSL_BINARY_DIR) + "/natsl-bench";

pid_t Start(const std::vector<std::string>& launcher, const std::vector<std::string>& arguments,
            const std::string& in, const std::string& out, const std::string& err) {
  std::vector<std::string> all = launcher;
  all.push_back(kProgram);
  all.insert(all.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& argument : all) argv.push_back(argument.data());
  argv.push_back(nullptr);
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  const int fds[] = {::open(in.c_str(), O_RDONLY),
                     ::open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600),
                     ::open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600)};
  for (int i = 0; i < 3; ++i) ::dup2(fds[i], i);
  ::execvp(argv[0], argv.data());
  ::_exit(127);
}

int ToStatus(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

Outcome RunProgram(const std::vector<std::string>& arguments, const std::string& input,
                   const std::vector<std::string>& launcher) {
  const TestFolder folder;
  WriteText(folder / "in", input);
  const pid_t pid = Start(launcher, arguments, folder / "in", folder / "out", folder / "err");
  int status = 0;
  ::waitpid(pid, &status, 0);
  return {ToStatus(status), ReadText(folder / "out"), ReadText(folder / "err")};
}

BackgroundProgram::BackgroundProgram(const std::vector<std::string>& arguments,
                                     const std::vector<std::string>& launcher,
                                     const std::string& error_file)
    : pid_(Start(launcher, arguments, "/dev/null", "/dev/null", error_file)) {}

BackgroundProgram::~BackgroundProgram() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  Wait();
}

void BackgroundProgram::Signal(int signal) const {
  if (pid_ > 0) ::kill(pid_, signal);
}

int BackgroundProgram::Wait() {
  if (pid_ < 0) return status_;
  int status = 0;
  ::waitpid(pid_, &status, 0);
  pid_ = -1;
  return status_ = ToStatus(status);
}

bool BackgroundProgram::Ended() {
  if (pid_ < 0) return true;
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) == 0) return false;
  pid_ = -1;
  status_ = ToStatus(status);
  return true;
}

TestFolder::TestFolder() {
  std::string name = (fs::path(testing::TempDir()) / "natsl-cli-XXXXXX").string();
  path_ = ::mkdtemp(name.data());
}

TestFolder::~TestFolder() {
  std::error_code error;
  fs::remove_all(path_, error);
}

void WriteText(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << text;
}

std::string ReadText(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

void WritePiqa(const fs::path& folder, int documents) {
  std::string records, labels;
  for (int i = 0; i < documents; ++i) {
    records += fmt::format(
        "{{\"goal\": \"Goal number {}\", \"sol1\": \"Do {} — slowly\", \"sol2\": \"Never do "
        "{}\"}}\n",
        i, i, i);
    labels += i % 3 == 0 ? "0\n" : "1\n";
  }
  WriteText(folder / "piqa" / "valid.jsonl", records);
  WriteText(folder / "piqa" / "valid-labels.lst", labels);
}

void WriteScript(const std::string& file, const std::string& tasks, const std::string& data,
                 const std::string& settings) {
  const Outcome requests = RunProgram({"inspect", "requests", "--tasks", tasks, "--data", data});
  ASSERT_EQ(requests.status, 0) << requests.err;
  std::istringstream lines(requests.out);
  std::string line, script = "{\"settings\": " + settings + "}\n";
  while (std::getline(lines, line)) {
    core::Json json = core::Json::parse(line);
    const std::string hash = core::Sha256Hex(json["continuation"].get<std::string>());
    json["logprob"] = -1.0 - std::stoi(hash.substr(0, 4), nullptr, 16) / 1000.0;
    json["is_greedy"] = hash[0] < '8';
    script += json.dump() + "\n";
  }
  WriteText(file, script);
}

}  // namespace natsl::cli
