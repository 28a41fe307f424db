#include "model_adapters/remote/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "core/error.h"

extern char** environ;

namespace natsl::model_adapters {
namespace {

constexpr int64_t kGraceMs = 5'000;

int64_t NowMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void SetNonBlocking(int fd) { ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK); }

}  // namespace

ChildProcess::ChildProcess(const std::vector<std::string>& command) {
  // Sockets, since a write to a dead process then gives an error and not a signal.
  int in[2], out[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in) != 0) {
    throw InternalError("no socket for a child process: {}", std::strerror(errno));
  }
  if (::pipe2(out, O_CLOEXEC) != 0) {
    const int reason = errno;
    ::close(in[0]);
    ::close(in[1]);
    throw InternalError("no pipe for a child process: {}", std::strerror(reason));
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[1], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  // A group of its own: an interrupt at the terminal is ours to handle, and what the process has
  // started can be ended with it.
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
  posix_spawnattr_setpgroup(&attributes, 0);
  sigset_t by_default;  // this program ignores it; others aren't made for that
  ::sigemptyset(&by_default);
  ::sigaddset(&by_default, SIGXFSZ);
  posix_spawnattr_setsigdefault(&attributes, &by_default);
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const int error =
      ::posix_spawnp(&pid_, arguments[0], &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  ::close(in[1]);
  ::close(out[1]);
  input_ = in[0];
  output_ = out[0];
  if (error != 0) {
    ::close(input_);
    ::close(output_);
    throw ModelError("process:{}: can't be started: {}", command.front(), std::strerror(error));
  }
  SetNonBlocking(input_);
  SetNonBlocking(output_);
}

ChildProcess::~ChildProcess() {
  CloseInput();
  if (!reaped_) {
    WaitFor(kGraceMs);
    Kill();
  }
  ::close(output_);
}

void ChildProcess::Send(const std::string& line) {
  to_write_.erase(0, written_);
  written_ = 0;
  to_write_ += line;
  to_write_ += '\n';
}

void ChildProcess::Write() {
  while (written_ < to_write_.size()) {
    const ssize_t sent =
        ::send(input_, to_write_.data() + written_, to_write_.size() - written_, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) {
      // Anything but "full": the process is gone, which its stdout will tell.
      if (errno != EAGAIN && errno != EWOULDBLOCK) CloseInput();
      return;
    }
    written_ += static_cast<size_t>(sent);
  }
  to_write_.clear();
  written_ = 0;
}

void ChildProcess::CloseInput() {
  if (input_ >= 0) ::close(input_);
  input_ = -1;
  to_write_.clear();
  written_ = 0;
}

bool ChildProcess::TakeLine(Received& received) {
  const size_t end = buffer_.find('\n', scanned_);
  scanned_ = buffer_.size();
  if (end == std::string::npos) return false;
  received.event = Event::kLine;
  received.line = buffer_.substr(0, end);
  if (received.line.ends_with('\r')) received.line.pop_back();
  buffer_.erase(0, end + 1);
  scanned_ = 0;
  return true;
}

ChildProcess::Received ChildProcess::Receive(int64_t milliseconds, int64_t max_line_bytes) {
  Received received;
  const int64_t until = NowMs() + milliseconds;
  while (true) {
    if (TakeLine(received)) return received;
    if (static_cast<int64_t>(buffer_.size()) > max_line_bytes) {
      received.event = Event::kTooLong;
      received.line = buffer_.substr(0, 200);
      return received;
    }
    if (output_ended_) {
      // A last line without its end was cut: it isn't one.
      received.event = Event::kEnd;
      return received;
    }
    pollfd watched[2] = {{output_, POLLIN, 0}, {input_, POLLOUT, 0}};
    const nfds_t count = input_ >= 0 && written_ < to_write_.size() ? 2 : 1;
    const int64_t left = std::max<int64_t>(0, until - NowMs());
    const int ready = ::poll(watched, count, static_cast<int>(std::min<int64_t>(left, INT32_MAX)));
    if (ready < 0 && errno != EINTR) {
      throw InternalError("waiting for a child process: {}", std::strerror(errno));
    }
    if (ready == 0 || (ready < 0 && NowMs() >= until)) return received;  // kTimeOut
    if (ready < 0) continue;
    if (count == 2 && watched[1].revents != 0) Write();
    if (watched[0].revents == 0) continue;
    char block[1 << 16];
    const ssize_t got = ::read(output_, block, sizeof(block));
    if (got > 0) buffer_.append(block, static_cast<size_t>(got));
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) output_ended_ = true;
  }
}

bool ChildProcess::WaitFor(int64_t milliseconds) {
  const int64_t until = NowMs() + milliseconds;
  while (!reaped_) {
    const pid_t ended = ::waitpid(pid_, &status_, WNOHANG);
    if (ended == pid_ || (ended < 0 && errno != EINTR)) {
      reaped_ = true;
      break;
    }
    if (NowMs() >= until) return false;
    ::poll(nullptr, 0, 10);
  }
  return true;
}

std::string ChildProcess::Kill() {
  // The group may outlive its leader.
  ::kill(-pid_, SIGKILL);
  WaitFor(kGraceMs);
  return Status();
}

std::string ChildProcess::Reap() {
  CloseInput();
  WaitFor(kGraceMs);
  return Kill();
}

std::string ChildProcess::Status() const {
  if (!reaped_) return "still running";
  return WIFSIGNALED(status_) ? fmt::format("signal {}", WTERMSIG(status_))
                              : fmt::format("exit status {}", WEXITSTATUS(status_));
}

}  // namespace natsl::model_adapters
