// A model spread over "processes" that are threads here: results, stops, errors.
#include "model_adapters/distributed_model.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <deque>
#include <mutex>

#include "tests/model_adapters/fake_models.h"

namespace natsl::model_adapters {
namespace {

/// Mailboxes of all ranks.
struct Post {
  explicit Post(int size) : boxes(static_cast<size_t>(size)) {}
  std::mutex mutex;
  std::vector<std::deque<Message>> boxes;
};

class ThreadCommunicator final : public Communicator {
 public:
  ThreadCommunicator(Post& post, int rank) : post_(post), rank_(rank) {}
  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(post_.boxes.size()); }
  int local_rank() const override { return rank_; }
  int local_size() const override { return size(); }
  const std::string& host(int) const override { return host_; }
  int64_t pid(int) const override { return ::getpid(); }
  void Send(int to, std::string_view bytes) override {
    const std::lock_guard lock(post_.mutex);
    post_.boxes[static_cast<size_t>(to)].push_back({rank_, std::string(bytes)});
  }
  std::optional<Message> TryReceive() override {
    const std::lock_guard lock(post_.mutex);
    auto& box = post_.boxes[static_cast<size_t>(rank_)];
    if (box.empty()) return std::nullopt;
    Message message = std::move(box.front());
    box.pop_front();
    return message;
  }

 private:
  Post& post_;
  int rank_;
  std::string host_ = "here";
};

class Collecting final : public BatchListener {
 public:
  bool Wanted(size_t index) override { return index != unwanted; }
  void OnBatch(std::span<const size_t> finished, int64_t) override {
    answered.insert(answered.end(), finished.begin(), finished.end());
  }
  bool StopRequested() override { return stop; }
  std::vector<size_t> answered;
  size_t unwanted = 1000;
  bool stop = false;
};

/// Ranks 1 and up on threads of their own, each with an EchoModel.
class Ranks {
 public:
  explicit Ranks(int size, bool fail = false) : post_(size), world_(post_, 0) {
    for (int rank = 1; rank < size; ++rank) {
      threads_.emplace_back([this, rank, fail] {
        ThreadCommunicator world(post_, rank);
        ServeShares(world, [fail]() -> ServedModel {
          if (fail) throw ModelError("no such weights");
          return {std::make_unique<EchoModel>(100), std::make_shared<ByteTokenizer>(true)};
        });
      });
    }
  }
  ~Ranks() {
    for (std::thread& thread : threads_) thread.join();
  }
  Communicator& world() { return world_; }

 private:
  Post post_;
  ThreadCommunicator world_;
  std::vector<std::thread> threads_;
};

std::vector<TokenScoreRequest> ScoreRequests() {
  std::vector<TokenScoreRequest> requests;
  for (TokenId i = 0; i < 23; ++i) requests.push_back({{i, 2, 4, static_cast<TokenId>(i + 1)}, 2});
  return requests;
}

TEST(DistributedModel, ScoresAsOneProcessDoes) {
  const auto requests = ScoreRequests();
  std::vector<TokenScore> expected(requests.size());
  Collecting ignored;
  EchoModel(100).Score(requests, expected, ignored);
  for (const int size : {2, 3, 5}) {
    Ranks ranks(size);
    Crew crew(ranks.world(), [](const std::string& text) { ADD_FAILURE() << text; });
    const auto model = MakeDistributedModel(std::make_unique<EchoModel>(100), crew);
    for (int call = 0; call < 2; ++call) {
      std::vector<TokenScore> results(requests.size());
      Collecting listener;
      listener.unwanted = 7;
      model->Score(requests, results, listener);
      std::sort(listener.answered.begin(), listener.answered.end());
      EXPECT_EQ(listener.answered.size(), requests.size() - 1);
      EXPECT_EQ(std::unique(listener.answered.begin(), listener.answered.end()),
                listener.answered.end());
      for (const size_t i : listener.answered) {
        EXPECT_EQ(results[i].log_probs, expected[i].log_probs) << i;
        EXPECT_EQ(results[i].is_greedy, expected[i].is_greedy) << i;
      }
    }
  }
}

TEST(DistributedModel, GeneratesWithStopStringsMadeAgain) {
  std::vector<TokenGenerateRequest> requests(9);
  for (size_t i = 0; i < requests.size(); ++i) {
    requests[i].prompt = {'a', static_cast<TokenId>('b' + i), 'c'};
    requests[i].max_new_tokens = 12;
    requests[i].stop_strings = {"ca"};
    requests[i].stop = [](std::span<const TokenId> ids) {
      return ids.size() >= 2 && ids[ids.size() - 2] == 'c' && ids.back() == 'a';
    };
  }
  std::vector<TokenGeneration> expected(requests.size()), results(requests.size());
  Collecting listener;
  EchoModel(100).Generate(requests, expected, listener);
  Ranks ranks(3);
  Crew crew(ranks.world(), [](const std::string& text) { ADD_FAILURE() << text; });
  MakeDistributedModel(std::make_unique<EchoModel>(100), crew)
      ->Generate(requests, results, listener);
  for (size_t i = 0; i < requests.size(); ++i) {
    EXPECT_EQ(results[i].ids, expected[i].ids) << i;
    EXPECT_EQ(results[i].finish, FinishReason::kStop) << i;
  }
}

TEST(DistributedModel, StopsOnRequest) {
  const auto requests = ScoreRequests();
  std::vector<TokenScore> results(requests.size());
  Ranks ranks(2);
  Crew crew(ranks.world(), [](const std::string& text) { ADD_FAILURE() << text; });
  Collecting listener;
  listener.stop = true;
  MakeDistributedModel(std::make_unique<EchoModel>(100), crew)->Score(requests, results, listener);
}

TEST(DistributedModel, ErrorsOfARankCarryItsName) {
  const auto requests = ScoreRequests();
  std::vector<TokenScore> results(requests.size());
  Ranks ranks(2, /*fail=*/true);
  Crew crew(ranks.world(), [](const std::string& text) { ADD_FAILURE() << text; });
  const auto model = MakeDistributedModel(std::make_unique<EchoModel>(100), crew);
  Collecting listener;
  try {
    model->Score(requests, results, listener);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kModel);
    const std::string text = error.what();
    EXPECT_TRUE(text.starts_with("rank 1 (process ")) << text;
    EXPECT_TRUE(text.ends_with("on here): no such weights")) << text;
  }
}

}  // namespace
}  // namespace natsl::model_adapters
