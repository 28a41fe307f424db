// Runs the plan's steps, asks the head for the scored positions, gathers the results.
#include "model_adapters/native/scorer.h"

#include <algorithm>
#include <deque>
#include <unordered_map>

#include "core/cast.h"
#include "kernels/common.h"

namespace natsl::model_adapters::native {
namespace {

class Scorer {
 public:
  Scorer(Runner& runner, std::span<const TokenScoreRequest> requests, const PlanLimits& limits,
         std::span<TokenScore> results, BatchListener& listener)
      : runner_(runner),
        requests_(requests),
        plan_(MakeScorePlan(requests, limits)),
        results_(results),
        listener_(listener),
        scores_(requests.size()) {}

  void Run() {
    // Which of the plan's places are wanted, as a running count.
    std::vector<int64_t> wanted(plan_.order.size() + 1, 0);
    for (size_t i = 0; i < plan_.order.size(); ++i) {
      wanted[i + 1] = wanted[i] + (listener_.Wanted(plan_.order[i]) ? 1 : 0);
    }
    for (const PlanStep& step : plan_.steps) {
      if (wanted[static_cast<size_t>(step.last)] == wanted[static_cast<size_t>(step.first)]) {
        continue;
      }
      if (listener_.StopRequested()) break;
      RunStep(step);
      while (under_way_.size() > runner_.passes_ahead()) TakeAnswers();
    }
    while (!under_way_.empty()) TakeAnswers();
  }

 private:
  // What the head is asked at one row, and whose answers they are.
  struct Asker {
    size_t request = 0;
    size_t index = 0;  ///< of the request's log_probs
  };

  // A step whose pass was started.
  struct UnderWay {
    const PlanStep* step = nullptr;
    std::vector<HeadQuery> queries;
    std::vector<std::vector<Asker>> askers;
    int64_t tokens = 0;
    Runner::Answers answers;  ///< empty: nothing was asked
    // What NAtS-L heads chose: requests that end in the pass, each with its place in `choices`.
    std::vector<std::pair<size_t, size_t>> ended;
    Runner::SoftmaxChunks choices;  ///< empty: none
  };

  void RunStep(const PlanStep& step) {
    std::vector<RunnerPiece> pieces;
    UnderWay pass;
    pass.step = &step;
    for (const PlanPiece& piece : step.pieces) {
      const PlanNode& node = plan_.nodes[static_cast<size_t>(piece.node)];
      RunnerState& state = StateFor(piece.node, node);
      const auto& ids = requests_[plan_.order[static_cast<size_t>(node.first)]].ids;
      pieces.push_back({&state,
                        std::span(ids).subspan(static_cast<size_t>(piece.begin),
                                               static_cast<size_t>(piece.end - piece.begin)),
                        piece.retain});
      Ask(node, piece, pass.tokens, pass.queries, pass.askers);
      pass.tokens += piece.end - piece.begin;
    }
    runner_.Forward(pieces);
    if (!pass.queries.empty()) pass.answers = runner_.Query(pass.queries);
    if (runner_.nats_heads() > 0) AskChoices(step, pieces, pass);
    for (const int64_t node : step.release) states_.erase(node);
    for (const PlanPiece& piece : step.pieces) {
      if (!piece.retain) states_.erase(piece.node);
    }
    under_way_.push_back(std::move(pass));
  }

  void TakeAnswers() {
    const UnderWay pass = std::move(under_way_.front());
    under_way_.pop_front();
    if (pass.answers) Answer(pass.answers(), pass);
    if (pass.choices) {
      const std::vector<std::vector<int32_t>> counts = pass.choices();
      for (const auto& [request, place] : pass.ended) {
        const int64_t read = core::Size(requests_[request].ids) - 1;
        scores_[request].softmax = {read / kernels::kPageTokens, counts[place]};
      }
    }
    for (const size_t request : pass.step->finished) {
      results_[request] = std::move(scores_[request]);
    }
    listener_.OnBatch(pass.step->finished, pass.tokens);
  }

  // A node starts where its parent ended: a fork.
  RunnerState& StateFor(int64_t id, const PlanNode& node) {
    const auto found = states_.find(id);
    if (found != states_.end()) return *found->second;
    auto state = node.parent < 0 ? runner_.NewState() : states_.at(node.parent)->Fork();
    return *states_.emplace(id, std::move(state)).first->second;
  }

  // The scored ids of the node's requests that follow tokens of the piece, one query a position.
  void Ask(const PlanNode& node, const PlanPiece& piece, int64_t row,
           std::vector<HeadQuery>& queries, std::vector<std::vector<Asker>>& askers) {
    std::unordered_map<int64_t, size_t> at;
    for (int64_t place = node.first; place < node.last; ++place) {
      const size_t index = plan_.order[static_cast<size_t>(place)];
      const TokenScoreRequest& request = requests_[index];
      const int64_t from = std::max(piece.begin, request.scored_from - 1);
      const int64_t to = std::min(piece.end, core::Size(request.ids) - 1);
      if (from < to && scores_[index].log_probs.empty()) {
        scores_[index].log_probs.resize(
            static_cast<size_t>(core::Size(request.ids) - request.scored_from));
        scores_[index].is_greedy = true;
      }
      for (int64_t position = from; position < to; ++position) {
        const auto [found, added] = at.emplace(position, queries.size());
        if (added) {
          queries.push_back({row + position - piece.begin, {}});
          askers.emplace_back();
        }
        queries[found->second].targets.push_back(request.ids[static_cast<size_t>(position + 1)]);
        askers[found->second].push_back(
            {index, static_cast<size_t>(position + 1 - request.scored_from)});
      }
    }
  }

  // Where a request's input ends, its state knows the choices of the whole sequence.
  void AskChoices(const PlanStep& step, std::span<const RunnerPiece> pieces, UnderWay& pass) {
    std::vector<RunnerState*> states;
    for (size_t i = 0; i < pieces.size(); ++i) {
      const PlanNode& node = plan_.nodes[static_cast<size_t>(step.pieces[i].node)];
      if (step.pieces[i].end < node.end) continue;
      const size_t before = pass.ended.size();
      for (int64_t place = node.first; place < node.last; ++place) {
        const size_t request = plan_.order[static_cast<size_t>(place)];
        if (core::Size(requests_[request].ids) - 1 != node.end) continue;
        pass.ended.emplace_back(request, states.size());
      }
      if (pass.ended.size() > before) states.push_back(pieces[i].state);
    }
    if (!states.empty()) pass.choices = runner_.CountSoftmax(states);
  }

  void Answer(const std::vector<HeadAnswer>& answers, const UnderWay& pass) {
    for (size_t q = 0; q < answers.size(); ++q) {
      for (size_t i = 0; i < pass.askers[q].size(); ++i) {
        TokenScore& score = scores_[pass.askers[q][i].request];
        score.log_probs[pass.askers[q][i].index] = answers[q].log_probs[i];
        score.is_greedy = score.is_greedy && answers[q].argmax == pass.queries[q].targets[i];
      }
    }
  }

  Runner& runner_;
  std::span<const TokenScoreRequest> requests_;
  ScorePlan plan_;
  std::span<TokenScore> results_;
  BatchListener& listener_;
  std::vector<TokenScore> scores_;
  std::unordered_map<int64_t, std::unique_ptr<RunnerState>> states_;
  std::deque<UnderWay> under_way_;
};

}  // namespace

void ScoreAll(Runner& runner, std::span<const TokenScoreRequest> requests, const PlanLimits& limits,
              std::span<TokenScore> results, BatchListener& listener) {
  Scorer(runner, requests, limits, results, listener).Run();
}

}  // namespace natsl::model_adapters::native
