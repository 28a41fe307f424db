// Communicator over MPI: the only file that knows mpi.h.
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "core/error.h"
#include "model_adapters/communicator.h"

namespace natsl::model_adapters {
namespace {

constexpr int kTag = 1;
/// A message goes in pieces: its length, then bytes by at most this many (MPI counts in int).
constexpr int64_t kPieceBytes = int64_t{1} << 28;
/// Waiting must not take the core of a process that computes.
constexpr useconds_t kPauseMicroseconds = 200;

class MpiCommunicator final : public Communicator {
 public:
  MpiCommunicator() {
    MPI_Init(nullptr, nullptr);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    MPI_Comm local;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &local);
    MPI_Comm_rank(local, &local_rank_);
    MPI_Comm_size(local, &local_size_);
    MPI_Comm_free(&local);
    Self self;
    ::gethostname(self.host.data(), self.host.size() - 1);
    self.pid = ::getpid();
    std::vector<Self> all(static_cast<size_t>(size_));
    MPI_Allgather(&self, sizeof(Self), MPI_BYTE, all.data(), sizeof(Self), MPI_BYTE,
                  MPI_COMM_WORLD);
    for (const Self& one : all) {
      hosts_.emplace_back(one.host.data());
      pids_.push_back(one.pid);
    }
  }
  ~MpiCommunicator() override { MPI_Finalize(); }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int local_rank() const override { return local_rank_; }
  int local_size() const override { return local_size_; }
  const std::string& host(int rank) const override { return hosts_[static_cast<size_t>(rank)]; }
  int64_t pid(int rank) const override { return pids_[static_cast<size_t>(rank)]; }

  void Send(int to, std::string_view bytes) override {
    const auto length = static_cast<int64_t>(bytes.size());
    SendPiece(to, &length, sizeof(length));
    for (int64_t begin = 0; begin < length; begin += kPieceBytes) {
      SendPiece(to, bytes.data() + begin, std::min(kPieceBytes, length - begin));
    }
  }

  std::optional<Message> TryReceive() override {
    int there = 0;
    MPI_Status status;
    MPI_Iprobe(MPI_ANY_SOURCE, kTag, MPI_COMM_WORLD, &there, &status);
    if (there == 0) return std::nullopt;
    Message message;
    message.from = status.MPI_SOURCE;
    int64_t length = 0;
    ReceivePiece(message.from, &length, sizeof(length));
    message.bytes.resize(static_cast<size_t>(length));
    for (int64_t begin = 0; begin < length; begin += kPieceBytes) {
      ReceivePiece(message.from, message.bytes.data() + begin,
                   std::min(kPieceBytes, length - begin));
    }
    return message;
  }

 private:
  struct Self {
    std::array<char, 256> host{};
    int64_t pid = 0;
  };

  static void Wait(MPI_Request& request) {
    for (int done = 0; done == 0;) {
      MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      if (done == 0) ::usleep(kPauseMicroseconds);
    }
  }
  static void SendPiece(int to, const void* data, int64_t bytes) {
    MPI_Request request;
    MPI_Isend(data, static_cast<int>(bytes), MPI_BYTE, to, kTag, MPI_COMM_WORLD, &request);
    Wait(request);
  }
  static void ReceivePiece(int from, void* data, int64_t bytes) {
    MPI_Request request;
    MPI_Irecv(data, static_cast<int>(bytes), MPI_BYTE, from, kTag, MPI_COMM_WORLD, &request);
    Wait(request);
  }

  int rank_ = 0, size_ = 1, local_rank_ = 0, local_size_ = 1;
  std::vector<std::string> hosts_;
  std::vector<int64_t> pids_;
};

}  // namespace
}  // namespace natsl::model_adapters

extern "C" natsl::model_adapters::Communicator* natsl_join_processes() {
  return new natsl::model_adapters::MpiCommunicator();
}
