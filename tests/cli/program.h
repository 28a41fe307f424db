// Runs natsl-bench as a process of its own, and small inputs for it.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

namespace natsl::cli {

struct Outcome {
  int status = -1;  ///< exit status; 128 + signal where a signal ended it
  std::string out, err;
};

/// Runs the program to its end with `input` on stdin. `launcher`: what stands before it (mpirun
/// with its options), found on PATH.
Outcome RunProgram(const std::vector<std::string>& arguments, const std::string& input = "",
                   const std::vector<std::string>& launcher = {});

/// A program that runs on while the test goes on. Its output is thrown away, but for stderr where
/// a file for it is given.
class BackgroundProgram {
 public:
  explicit BackgroundProgram(const std::vector<std::string>& arguments,
                             const std::vector<std::string>& launcher = {},
                             const std::string& error_file = "/dev/null");
  ~BackgroundProgram();
  void Signal(int signal) const;
  /// Exit status as in Outcome.
  int Wait();
  bool Ended();
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  int status_ = -1;
};

/// A folder of its own for one test, removed at the end.
class TestFolder {
 public:
  TestFolder();
  ~TestFolder();
  const std::filesystem::path& path() const { return path_; }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

void WriteText(const std::filesystem::path& file, const std::string& text);
std::string ReadText(const std::filesystem::path& file);

/// Writes a PIQA of `documents` records in the published layout below `folder`.
void WritePiqa(const std::filesystem::path& folder, int documents);
/// Answers to all requests of the tasks below `data` as a script for scripted:FILE; log-probs
/// depend on the text alone. `settings`: JSON of its first line's settings.
void WriteScript(const std::string& file, const std::string& tasks, const std::string& data,
                 const std::string& settings);

}  // namespace natsl::cli
