// The scoring plan: every token once, shared prefixes once, limits kept, order of no matter.
#include "model_adapters/score_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

namespace natsl::model_adapters {
namespace {

std::vector<TokenId> Sequence(TokenId first, int64_t count) {
  std::vector<TokenId> ids;
  for (int64_t i = 0; i < count; ++i) ids.push_back(first + static_cast<TokenId>(i));
  return ids;
}

std::vector<TokenId> Join(std::vector<TokenId> a, const std::vector<TokenId>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

int64_t PlannedTokens(const ScorePlan& plan) {
  int64_t tokens = 0;
  for (const PlanStep& step : plan.steps) {
    for (const PlanPiece& piece : step.pieces) tokens += piece.end - piece.begin;
  }
  return tokens;
}

// Walks the plan as the scorer does: parents before children, pieces in order, each request's input
// covered once, states held no longer than needed.
void CheckPlan(const std::vector<TokenScoreRequest>& requests, const PlanLimits& limits) {
  const ScorePlan plan = MakeScorePlan(requests, limits);
  std::map<int64_t, int64_t> reached;  // node -> position, while its state is alive
  std::vector<int> finished(requests.size(), 0);
  for (const PlanStep& step : plan.steps) {
    int64_t tokens = 0;
    for (const PlanPiece& piece : step.pieces) {
      const PlanNode& node = plan.nodes[static_cast<size_t>(piece.node)];
      ASSERT_LT(piece.begin, piece.end);
      ASSERT_GE(node.first, step.first);
      ASSERT_LE(node.last, step.last);
      if (piece.begin == node.begin) {
        if (node.parent >= 0) {
          ASSERT_EQ(reached.at(node.parent), node.begin);
        } else {
          ASSERT_EQ(node.begin, 0);
        }
      } else {
        ASSERT_EQ(reached.at(piece.node), piece.begin);
      }
      tokens += piece.end - piece.begin;
    }
    ASSERT_LE(tokens, limits.batch_tokens);
    ASSERT_LE(static_cast<int64_t>(step.pieces.size()), limits.max_sequences);
    for (const PlanPiece& piece : step.pieces) {
      if (piece.retain) {
        reached[piece.node] = piece.end;
      } else {
        reached.erase(piece.node);
      }
    }
    for (const int64_t node : step.release) reached.erase(node);
    for (const size_t request : step.finished) ++finished[request];
  }
  EXPECT_TRUE(reached.empty());
  EXPECT_TRUE(std::all_of(finished.begin(), finished.end(), [](int n) { return n == 1; }));
  for (const PlanNode& node : plan.nodes) {
    for (int64_t place = node.first; place < node.last; ++place) {
      const auto& ids = requests[plan.order[static_cast<size_t>(place)]].ids;
      const auto& path = requests[plan.order[static_cast<size_t>(node.first)]].ids;
      ASSERT_TRUE(std::equal(ids.begin(), ids.begin() + node.end, path.begin()));
    }
  }
}

TEST(Plan, SharedPrefixIsComputedOnce) {
  const std::vector<TokenId> prefix = Sequence(0, 100);
  std::vector<TokenScoreRequest> requests;
  for (TokenId i = 0; i < 4; ++i) {
    requests.push_back({Join(prefix, Sequence(1000 * (i + 1), 11)), 100});
  }
  EXPECT_EQ(PlannedTokens(MakeScorePlan(requests, {})), 100 + 4 * 10);
  EXPECT_EQ(PlannedTokens(MakeScorePlan(requests, {.share_prefixes = false})), 4 * 110);
}

TEST(Plan, RequestsThatDifferInTheLastIdAreOneSequence) {
  std::vector<TokenScoreRequest> requests;
  for (TokenId i = 0; i < 4; ++i) requests.push_back({Join(Sequence(0, 5), {50 + i}), 5});
  const ScorePlan plan = MakeScorePlan(requests, {});
  EXPECT_EQ(plan.nodes.size(), 1u);
  EXPECT_EQ(PlannedTokens(plan), 5);
}

TEST(Plan, ShortPrefixesAreNotForked) {
  std::vector<TokenScoreRequest> requests = {{Join(Sequence(0, 8), {90, 91}), 1},
                                             {Join(Sequence(0, 8), {80, 81}), 1}};
  EXPECT_EQ(MakeScorePlan(requests, {}).nodes.size(), 2u);
}

TEST(Plan, RandomTreesKeepTheLimits) {
  std::mt19937 random(4);
  for (int round = 0; round < 60; ++round) {
    std::vector<std::vector<TokenId>> stems = {{}};
    std::vector<TokenScoreRequest> requests;
    for (int i = 0; i < 40; ++i) {
      std::vector<TokenId> ids = stems[random() % stems.size()];
      const int64_t extra = 2 + static_cast<int64_t>(random() % 50);
      for (int64_t t = 0; t < extra; ++t) ids.push_back(static_cast<TokenId>(random() % 3));
      stems.push_back(ids);
      requests.push_back({ids, 1 + static_cast<int64_t>(random() % (ids.size() - 1))});
    }
    PlanLimits limits;
    limits.batch_tokens = 1 + static_cast<int64_t>(random() % 300);
    limits.max_sequences = 1 + static_cast<int64_t>(random() % 20);
    limits.max_held = 1 + static_cast<int64_t>(random() % 4);
    limits.share_prefixes = round % 4 != 0;
    CheckPlan(requests, limits);
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(Plan, OrderOfRequestsDoesNotMatter) {
  std::vector<TokenScoreRequest> requests;
  for (TokenId i = 0; i < 9; ++i) {
    requests.push_back({Join(Sequence(0, 20 + 3 * (i % 4)), Sequence(100 + i, 5)), 3});
  }
  const ScorePlan plan = MakeScorePlan(requests, {.batch_tokens = 50});
  std::vector<TokenScoreRequest> reversed(requests.rbegin(), requests.rend());
  const ScorePlan other = MakeScorePlan(reversed, {.batch_tokens = 50});
  ASSERT_EQ(plan.order.size(), other.order.size());
  for (size_t i = 0; i < plan.order.size(); ++i) {
    EXPECT_EQ(requests[plan.order[i]].ids, reversed[other.order[i]].ids);
  }
  EXPECT_EQ(plan.steps.size(), other.steps.size());
}

TEST(Plan, NoRequests) { EXPECT_TRUE(MakeScorePlan({}, {}).steps.empty()); }

TEST(DeterministicPlan, AStepHoldsOneSequenceCutWhereItsScoredIdsBegin) {
  const std::vector<TokenId> context = Sequence(0, 40);
  std::vector<TokenScoreRequest> requests;
  for (const TokenId choice : {50, 60, 70})
    requests.push_back({Join(context, Sequence(choice, 5)), 40});
  requests.push_back({Join(context, {80}), 40});             // one scored id: no continuation
  requests.push_back({Join(context, Sequence(50, 5)), 42});  // the same ids, cut elsewhere
  requests.push_back({Sequence(10, 30), 1});
  PlanLimits limits;
  limits.deterministic = true;
  limits.batch_tokens = 16;
  CheckPlan(requests, limits);
  limits.share_prefixes = false;
  CheckPlan(requests, limits);
  limits.share_prefixes = true;
  const ScorePlan plan = MakeScorePlan(requests, limits);
  for (const PlanStep& step : plan.steps) EXPECT_EQ(step.pieces.size(), 1u);
  // 40 + 3 x 4 once, 42 + 2 (computed again for the other cut), 1 + 28.
  EXPECT_EQ(PlannedTokens(plan), 40 + 12 + 44 + 29);
}

TEST(DeterministicPlan, TheStepsOfARequestDoNotDependOnOthers) {
  const TokenScoreRequest request{Sequence(3, 50), 20};
  PlanLimits limits;
  limits.deterministic = true;
  limits.batch_tokens = 16;
  const auto pieces_of = [&](const std::vector<TokenScoreRequest>& requests, size_t index) {
    const ScorePlan plan = MakeScorePlan(requests, limits);
    std::vector<std::pair<int64_t, int64_t>> pieces;
    for (const PlanStep& step : plan.steps) {
      const auto place =
          std::find(plan.order.begin(), plan.order.end(), index) - plan.order.begin();
      const PlanNode& node = plan.nodes[static_cast<size_t>(step.pieces[0].node)];
      if (node.first <= place && place < node.last) {
        pieces.emplace_back(step.pieces[0].begin, step.pieces[0].end);
      }
    }
    return pieces;
  };
  const auto alone = pieces_of({request}, 0);
  EXPECT_EQ(alone,
            (std::vector<std::pair<int64_t, int64_t>>{{0, 16}, {16, 20}, {20, 36}, {36, 49}}));
  EXPECT_EQ(
      pieces_of({{Sequence(3, 30), 20}, request, {Sequence(3, 70), 60}, {Sequence(0, 9), 2}}, 1),
      alone);
}

TEST(SplitPlan, PartsKeepStepsWholeAndCostTheSame) {
  std::mt19937 random(5);
  std::vector<TokenScoreRequest> requests;
  const std::vector<TokenId> shots = Sequence(0, 60);
  for (int document = 0; document < 200; ++document) {
    const auto context = Join(shots, Sequence(static_cast<TokenId>(random() % 1000), 20));
    for (int choice = 0; choice < 2; ++choice) {
      requests.push_back({Join(context, Sequence(static_cast<TokenId>(random() % 1000), 4)), 80});
    }
  }
  PlanLimits limits;
  limits.batch_tokens = 256;
  const ScorePlan plan = MakeScorePlan(requests, limits);
  for (const int parts : {1, 2, 3, 4}) {
    const std::vector<int> part = SplitScorePlan(plan, parts);
    ASSERT_EQ(part.size(), requests.size());
    std::vector<int64_t> tokens(static_cast<size_t>(parts), 0);
    int64_t total = 0, all = 0;
    for (const PlanStep& step : plan.steps) {
      std::set<int> computing;
      for (int64_t place = step.first; place < step.last; ++place) {
        computing.insert(part[plan.order[static_cast<size_t>(place)]]);
      }
      int64_t size = 0;
      for (const PlanPiece& piece : step.pieces) size += piece.end - piece.begin;
      for (const int p : computing) tokens[static_cast<size_t>(p)] += size;
      total += size;
      all += size * static_cast<int64_t>(computing.size());
    }
    // Only the shared shots are computed by each part.
    EXPECT_LE(all, total + 60 * (parts - 1) + limits.batch_tokens);
    const auto [least, most] = std::minmax_element(tokens.begin(), tokens.end());
    EXPECT_LE(*most - *least, 2 * limits.batch_tokens) << parts;
  }
}

TEST(SplitPlan, GroupsGoToTheLeastLoaded) {
  const std::vector<int64_t> costs = {5, 9, 1, 4};
  EXPECT_EQ(SplitGroups(costs, 2), (std::vector<int>{1, 0, 0, 1}));
  EXPECT_EQ(SplitGroups(costs, 1), (std::vector<int>{0, 0, 0, 0}));
  EXPECT_TRUE(SplitGroups({}, 3).empty());
}

}  // namespace
}  // namespace natsl::model_adapters
