// Rank 0: sends shares out, computes its own, takes results in.
#include "model_adapters/distributed_model.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>

#include "core/cast.h"
#include "model_adapters/distributed_messages.h"

namespace natsl::model_adapters {
namespace {

constexpr auto kPause = std::chrono::milliseconds(1);
constexpr auto kWatchEvery = std::chrono::milliseconds(50);

std::string NameOf(const Communicator& world, int rank) {
  return fmt::format("rank {} (process {} on {})", rank, world.pid(rank), world.host(rank));
}

/// A process that has ended is gone, or a zombie until its parent asks for it.
bool Runs(int64_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string line;
  if (!std::getline(file, line)) return false;
  const size_t name_end = line.rfind(')');
  return name_end == std::string::npos || name_end + 2 >= line.size() ||
         (line[name_end + 2] != 'Z' && line[name_end + 2] != 'X');
}

class DistributedModel final : public TokenModel {
 public:
  DistributedModel(std::unique_ptr<TokenModel> local, Communicator& world)
      : local_(std::move(local)), world_(world) {}

  const ModelInfo& Info() const override { return local_->Info(); }

  void Score(std::span<const TokenScoreRequest> requests, std::span<TokenScore> results,
             BatchListener& listener) override {
    Spread(Tell::kScore, requests, results, listener,
           [&](BatchListener& own) { local_->Score(requests, results, own); });
  }
  void Generate(std::span<const TokenGenerateRequest> requests, std::span<TokenGeneration> results,
                BatchListener& listener) override {
    Spread(Tell::kGenerate, requests, results, listener,
           [&](BatchListener& own) { local_->Generate(requests, results, own); });
  }
  std::vector<int> Split(std::span<const TokenScoreRequest> requests, int parts) const override {
    return local_->Split(requests, parts);
  }
  std::vector<int> Split(std::span<const TokenGenerateRequest> requests, int parts) const override {
    return local_->Split(requests, parts);
  }
  std::unique_ptr<Session> NewSession(int64_t batch) override { return local_->NewSession(batch); }
  Trace Forward(std::span<const TokenId> ids, bool hidden_states,
                std::span<const int64_t> pieces) override {
    return local_->Forward(ids, hidden_states, pieces);
  }

 private:
  /// Results of one call as they come in from the other ranks.
  template <typename Result>
  class Intake {
   public:
    Intake(DistributedModel& model, std::span<Result> results, BatchListener& listener)
        : model_(model), results_(results), listener_(listener), left_(model.world_.size() - 1) {}

    /// Takes in what is there; true where every rank is done.
    bool Take() {
      while (const std::optional<Message> message = model_.world_.TryReceive()) {
        core::ByteReader in(message->bytes, "a message of " + NameOf(model_.world_, message->from));
        const Tell tell = in.Next<Tell>();
        if (tell == Tell::kBatch) {
          TakeBatch(in);
        } else if (tell == Tell::kDone) {
          --left_;
        } else {
          model_.TakeOther(tell, in, message->from);
        }
      }
      return left_ == 0;
    }

   private:
    void TakeBatch(core::ByteReader& in) {
      const auto tokens = in.Next<int64_t>();
      std::vector<size_t> finished(static_cast<size_t>(in.Next<int64_t>()));
      for (size_t& index : finished) {
        const auto place = in.Next<int64_t>();
        if (place < 0 || place >= core::Size(results_)) {
          throw InternalError("a rank answered request {} of {}", place, results_.size());
        }
        index = static_cast<size_t>(place);
        Get(in, results_[index]);
      }
      in.End();
      listener_.OnBatch(finished, tokens);
    }

    DistributedModel& model_;
    std::span<Result> results_;
    BatchListener& listener_;
    int left_;
  };

  /// Rank 0's own share; between its batches the others' results come in.
  template <typename Result>
  class OwnListener final : public BatchListener {
   public:
    OwnListener(const std::vector<uint8_t>& mine, Intake<Result>& intake, BatchListener& outer)
        : mine_(mine), intake_(intake), outer_(outer) {}
    bool Wanted(size_t index) override { return mine_[index] != 0; }
    void OnBatch(std::span<const size_t> finished, int64_t tokens) override {
      std::vector<size_t> own;
      std::ranges::copy_if(finished, std::back_inserter(own),
                           [&](size_t index) { return mine_[index] != 0; });
      outer_.OnBatch(own, tokens);
      intake_.Take();
    }
    bool StopRequested() override { return outer_.StopRequested(); }

   private:
    const std::vector<uint8_t>& mine_;
    Intake<Result>& intake_;
    BatchListener& outer_;
  };

  template <typename Request, typename Result, typename Compute>
  void Spread(Tell tell, std::span<const Request> requests, std::span<Result> results,
              BatchListener& listener, Compute&& compute) {
    // Rank 0 alone decides who computes what: a rank's own plan may hang on its device's memory.
    const std::vector<int> part = local_->Split(requests, world_.size());
    std::vector<std::vector<uint8_t>> shares(static_cast<size_t>(world_.size()),
                                             std::vector<uint8_t>(requests.size(), 0));
    for (size_t i = 0; i < requests.size(); ++i) {
      if (listener.Wanted(i)) shares[static_cast<size_t>(part[i])][i] = 1;
    }
    for (int rank = 1; rank < world_.size(); ++rank) {
      world_.Send(rank, ShareMessage(tell, requests, shares[static_cast<size_t>(rank)]));
    }
    const std::vector<uint8_t>& mine = shares[0];
    Intake<Result> intake(*this, results, listener);
    OwnListener<Result> own(mine, intake, listener);
    compute(own);
    bool stopped = false;
    while (!intake.Take()) {
      if (!stopped && listener.StopRequested()) {
        stopped = true;
        for (int rank = 1; rank < world_.size(); ++rank) {
          world_.Send(rank, ShortMessage(Tell::kStop));
        }
      }
      std::this_thread::sleep_for(kPause);
    }
  }

  void TakeOther(Tell tell, core::ByteReader& in, int from) {
    if (tell == Tell::kReady) {
      const auto fingerprint = in.Next<std::string>();
      if (!fingerprint.empty() && fingerprint != Info().weights_fingerprint) {
        throw ModelError("{} has other weights ({}) than rank 0 ({}): copy the checkpoint there",
                         NameOf(world_, from), fingerprint, Info().weights_fingerprint);
      }
    } else if (tell == Tell::kError) {
      const auto code = in.Next<ErrorCode>();
      throw Error(code, NameOf(world_, from) + ": " + in.Next<std::string>());
    }
  }

  std::unique_ptr<TokenModel> local_;
  Communicator& world_;
};

}  // namespace

Crew::Crew(Communicator& world, std::function<void(const std::string&)> on_death)
    : world_(world),
      on_death_(std::move(on_death)),
      gone_(static_cast<size_t>(world.size())),
      watch_([this] { Watch(); }) {}

void Crew::Watch() {
  while (!over_) {
    for (int rank = 1; rank < world_.size(); ++rank) {
      if (world_.host(rank) != world_.host(0) || Runs(world_.pid(rank))) continue;
      if (gone_[static_cast<size_t>(rank)]) continue;
      on_death_(NameOf(world_, rank) + " has ended before its work was done");
      std::_Exit(static_cast<int>(ErrorCode::kInternal));
    }
    std::this_thread::sleep_for(kWatchEvery);
  }
}

Crew::~Crew() {
  // Until each has said goodbye the watch goes on: one that dies now would be waited for forever.
  for (int rank = 1; rank < world_.size(); ++rank) world_.Send(rank, ShortMessage(Tell::kEnd));
  for (int left = world_.size() - 1; left > 0;) {
    if (const std::optional<Message> message = world_.TryReceive()) {
      if (core::ByteReader(message->bytes, "a message").Next<Tell>() != Tell::kBye) continue;
      gone_[static_cast<size_t>(message->from)] = true;
      --left;
    } else {
      std::this_thread::sleep_for(kPause);
    }
  }
  over_ = true;
  watch_.join();
}

std::unique_ptr<TokenModel> MakeDistributedModel(std::unique_ptr<TokenModel> local, Crew& crew) {
  return std::make_unique<DistributedModel>(std::move(local), crew.world());
}

}  // namespace natsl::model_adapters
