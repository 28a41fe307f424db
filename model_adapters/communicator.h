// The other processes of one run, started by mpirun or srun: who they are, messages among them.
// The one that starts programs knows no MPI: natsl_mpi is a module that is loaded only then.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace natsl::model_adapters {

struct Message {
  int from = 0;
  std::string bytes;
};

/// Thread-compatible. Messages between two processes arrive in the order in which they were sent.
class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;  ///< from 0
  virtual int size() const = 0;
  virtual int local_rank() const = 0;  ///< among the processes of this host
  virtual int local_size() const = 0;
  virtual const std::string& host(int rank) const = 0;
  virtual int64_t pid(int rank) const = 0;

  virtual void Send(int to, std::string_view bytes) = 0;
  /// A message that has come already; never waits.
  virtual std::optional<Message> TryReceive() = 0;
};

/// Null where this process wasn't started as one of several. Throws Error (usage) where it was and
/// this build has no MPI.
std::unique_ptr<Communicator> JoinProcesses();

/// Exported by natsl_mpi. The caller owns the communicator.
using JoinProcessesFunction = Communicator* (*)();
constexpr const char* kJoinProcessesSymbol = "natsl_join_processes";

}  // namespace natsl::model_adapters
