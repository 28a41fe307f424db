// A rank other than 0.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>

#include "core/cast.h"
#include "model_adapters/distributed_messages.h"
#include "model_adapters/distributed_model.h"
#include "model_adapters/request_encoding.h"

namespace natsl::model_adapters {
namespace {

constexpr const char* kMessage = "a message of rank 0";

class Worker {
 public:
  explicit Worker(Communicator& world) : world_(world) {}

  void Serve(const std::function<ServedModel()>& open) {
    Reporting([&] {
      served_ = open();
      core::ByteWriter ready;
      ready.Put(Tell::kReady);
      const bool elsewhere = world_.host(0) != world_.host(world_.rank());
      ready.Put(elsewhere ? served_.model->Info().weights_fingerprint : std::string());
      world_.Send(0, ready.Take());
    });
    while (!ended_) {
      const Message message = Receive();
      core::ByteReader in(message.bytes, kMessage);
      switch (in.Next<Tell>()) {
        case Tell::kScore:
          Reporting([&] { Share<TokenScoreRequest, TokenScore>(in); });
          break;
        case Tell::kGenerate:
          Reporting([&] { Share<TokenGenerateRequest, TokenGeneration>(in); });
          break;
        case Tell::kEnd:
          ended_ = true;
          break;
        default:
          break;  // kStop after the share was done
      }
    }
    world_.Send(0, ShortMessage(Tell::kBye));
  }

 private:
  template <typename Result>
  class Listener final : public BatchListener {
   public:
    Listener(Worker& worker, const std::vector<uint8_t>& mine, std::span<Result> results)
        : worker_(worker), mine_(mine), results_(results) {}
    bool Wanted(size_t index) override { return mine_[index] != 0; }
    void OnBatch(std::span<const size_t> finished, int64_t tokens) override {
      core::ByteWriter out;
      out.Put(Tell::kBatch);
      out.Put(tokens);
      out.Put(static_cast<int64_t>(
          std::ranges::count_if(finished, [&](size_t index) { return mine_[index] != 0; })));
      for (const size_t index : finished) {
        if (mine_[index] == 0) continue;
        out.Put(static_cast<int64_t>(index));
        Put(out, results_[index]);
      }
      worker_.world_.Send(0, out.Take());
    }
    bool StopRequested() override { return worker_.StopAsked(); }

   private:
    Worker& worker_;
    const std::vector<uint8_t>& mine_;
    std::span<Result> results_;
  };

  template <typename Request, typename Result>
  void Share(core::ByteReader& in) {
    if (!served_.model) throw InternalError("no model to compute with");
    std::vector<uint8_t> mine;
    in.Get(mine);
    std::vector<Request> requests(mine.size());
    for (Request& request : requests) Get(in, request);
    in.End();
    stop_asked_ = false;
    std::vector<Result> results(requests.size());
    Listener<Result> listener(*this, mine, results);
    Compute(requests, results, listener);
    world_.Send(0, ShortMessage(Tell::kDone));
  }

  void Compute(std::vector<TokenScoreRequest>& requests, std::vector<TokenScore>& results,
               BatchListener& listener) {
    served_.model->Score(requests, results, listener);
  }
  void Compute(std::vector<TokenGenerateRequest>& requests, std::vector<TokenGeneration>& results,
               BatchListener& listener) {
    const std::optional<TokenId> eos = served_.tokenizer->special_tokens().eos;
    std::vector<std::vector<std::string>> stops(requests.size());
    for (size_t i = 0; i < requests.size(); ++i) {
      stops[i] = requests[i].stop_strings;
      if (eos) stops[i].push_back(served_.tokenizer->Decode(std::span(&*eos, 1), false));
      if (stops[i].empty()) continue;
      requests[i].stop = [this, &own = stops[i]](std::span<const TokenId> ids) {
        return MeetsStop(*served_.tokenizer, ids, own);
      };
    }
    served_.model->Generate(requests, results, listener);
  }

  /// Rank 0 says nothing while a share is computed but to stop it.
  bool StopAsked() {
    while (const std::optional<Message> message = world_.TryReceive()) {
      const Tell tell = core::ByteReader(message->bytes, kMessage).Next<Tell>();
      stop_asked_ |= tell == Tell::kStop || tell == Tell::kEnd;
      ended_ |= tell == Tell::kEnd;
    }
    return stop_asked_;
  }

  Message Receive() {
    while (true) {
      if (std::optional<Message> message = world_.TryReceive()) return std::move(*message);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  template <typename Body>
  void Reporting(Body&& body) {
    try {
      body();
    } catch (const Error& error) {
      world_.Send(0, ErrorMessage(error));
    } catch (const std::exception& error) {
      world_.Send(0, ErrorMessage(InternalError("{}", error.what())));
    }
  }

  Communicator& world_;
  ServedModel served_;
  bool stop_asked_ = false, ended_ = false;
};

}  // namespace

void ServeShares(Communicator& world, const std::function<ServedModel()>& open) {
  Worker(world).Serve(open);
}

}  // namespace natsl::model_adapters
