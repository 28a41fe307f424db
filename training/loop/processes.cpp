// Processes.
#include "training/loop/processes.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <vector>

#include "core/error.h"

namespace natsl::training {
namespace {

std::vector<pid_t>& Others() {
  static std::vector<pid_t> others;
  return others;
}

/// A rank that dies would leave the others waiting for its gradients.
void OnChildEnd(int) {
  int status = 0;
  const pid_t ended = waitpid(-1, &status, WNOHANG);
  if (ended > 0 && status != 0) {
    constexpr char kMessage[] = "natsl-train: error: another rank failed\n";
    [[maybe_unused]] const ssize_t written = write(2, kMessage, sizeof(kMessage) - 1);
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : static_cast<int>(ErrorCode::kInternal));
  }
}

}  // namespace

Rank StartRanks(int64_t count, const std::string& output) {
  if (count == 1) return {};
  std::error_code error;
  std::filesystem::create_directories(output, error);
  if (error) throw UsageError("{}: cannot create the output folder: {}", output, error.message());
  std::filesystem::remove(std::filesystem::path(output) / "ranks", error);
  for (int64_t index = 1; index < count; ++index) {
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child < 0) throw InternalError("fork: {}", std::strerror(errno));
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) _exit(static_cast<int>(ErrorCode::kInternal));
      Others().clear();
      return {index, count};
    }
    Others().push_back(child);
  }
  signal(SIGCHLD, OnChildEnd);
  return {0, count};
}

int WaitForRanks() {
  signal(SIGCHLD, SIG_DFL);
  int result = 0;
  for (const pid_t other : Others()) {
    int status = 0;
    // Reaped already: it had ended well.
    if (waitpid(other, &status, 0) != other || status == 0) continue;
    if (result == 0) {
      result = WIFEXITED(status) ? WEXITSTATUS(status) : static_cast<int>(ErrorCode::kInternal);
    }
  }
  return result;
}

}  // namespace natsl::training
