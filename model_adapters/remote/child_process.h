// A child process that we speak lines with: its stdin and stdout are ours, its stderr is passed
// through. Knows nothing of what the lines say.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace natsl::model_adapters {

class ChildProcess {
 public:
  /// Starts the program (found on PATH; no shell). Throws Error (model) where it can't be started.
  explicit ChildProcess(const std::vector<std::string>& command);
  /// Closes its stdin, gives it a moment to end by itself, then ends it with all it has started.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// Queues a line (without its end) to be written. Never blocks.
  void Send(const std::string& line);

  enum class Event { kLine, kTimeOut, kEnd, kTooLong };
  struct Received {
    Event event = Event::kTimeOut;
    std::string line;  ///< of kLine; of kTooLong its start
  };
  /// Writes what is queued and waits at most `milliseconds` for a line. kEnd: stdout was closed,
  /// and no line is left. kTooLong: a line of more than `max_line_bytes`; nothing more is read.
  Received Receive(int64_t milliseconds, int64_t max_line_bytes);

  /// Ends it at once, and says how it ended: "exit status 1", "signal 9".
  std::string Kill();
  /// How it ended by itself, waiting a moment for that; then as Kill.
  std::string Reap();

 private:
  bool TakeLine(Received& received);
  void Write();
  void CloseInput();
  bool WaitFor(int64_t milliseconds);
  std::string Status() const;

  pid_t pid_ = -1;
  int input_ = -1;   ///< our end of its stdin
  int output_ = -1;  ///< our end of its stdout
  std::string to_write_;
  size_t written_ = 0;
  std::string buffer_;
  size_t scanned_ = 0;  ///< bytes of buffer_ without a line's end
  bool output_ended_ = false;
  bool reaped_ = false;
  int status_ = 0;
};

}  // namespace natsl::model_adapters
