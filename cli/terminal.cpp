#include "cli/terminal.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>

namespace natsl::cli {
namespace {

std::atomic<bool> stop_requested = false;
static_assert(std::atomic<bool>::is_always_lock_free);

extern "C" void OnStopSignal(int signal) {
  stop_requested = true;
  ::signal(signal, SIG_DFL);
}

}  // namespace

void CatchStopSignals() {
  struct sigaction action {};
  action.sa_handler = OnStopSignal;
  ::sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  struct sigaction now {};
  ::sigaction(SIGHUP, nullptr, &now);
  if (now.sa_handler != SIG_IGN) ::sigaction(SIGHUP, &action, nullptr);  // else nohup: it goes on
}

bool StopRequested() { return stop_requested; }

bool StderrIsTerminal() { return ::isatty(STDERR_FILENO) == 1; }

}  // namespace natsl::cli
