// Prefix tree and its cut into steps.
#include "model_adapters/score_plan.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "core/cast.h"
#include "core/error.h"

namespace natsl::model_adapters {

int64_t CommonPrefix(std::span<const TokenId> a, std::span<const TokenId> b) {
  const size_t limit = std::min(a.size(), b.size());
  size_t i = 0;
  while (i < limit && a[i] == b[i]) ++i;
  return static_cast<int64_t>(i);
}

namespace {

class Planner {
 public:
  Planner(std::span<const TokenScoreRequest> requests, const PlanLimits& limits)
      : requests_(requests), limits_(limits) {}

  ScorePlan Make() {
    Sort();
    const int64_t count = core::Size(plan_.order);
    if (limits_.deterministic) {
      EmitAlone();
      return std::move(plan_);
    }
    common_.assign(static_cast<size_t>(count), 0);
    if (limits_.share_prefixes) {
      for (int64_t i = 1; i < count; ++i) {
        common_[static_cast<size_t>(i)] = CommonPrefix(Input(i - 1), Input(i));
      }
    }
    Emit(AddNodes(0, count, 0, -1));
    return std::move(plan_);
  }

 private:
  std::span<const TokenId> Input(int64_t place) const {
    const auto& ids = requests_[plan_.order[static_cast<size_t>(place)]].ids;
    return std::span(ids).first(ids.size() - 1);
  }

  void Sort() {
    for (size_t i = 0; i < requests_.size(); ++i) {
      const auto& request = requests_[i];
      if (request.scored_from < 1 || request.scored_from >= core::Size(request.ids)) {
        throw InternalError("score request {}: scored_from is {} of {} ids", i, request.scored_from,
                            request.ids.size());
      }
    }
    plan_.order.resize(requests_.size());
    std::iota(plan_.order.begin(), plan_.order.end(), size_t{0});
    std::sort(plan_.order.begin(), plan_.order.end(), [&](size_t a, size_t b) {
      const auto& x = requests_[a];
      const auto& y = requests_[b];
      // Where a sequence is cut there, by the cut: the same context stands together.
      if (limits_.deterministic && x.scored_from != y.scored_from) {
        return x.scored_from < y.scored_from;
      }
      // By input first: an input that ends sorts before those that go on.
      const auto order = std::lexicographical_compare_three_way(x.ids.begin(), x.ids.end() - 1,
                                                                y.ids.begin(), y.ids.end() - 1);
      if (order != 0) return order < 0;
      return std::tuple(x.ids.back(), x.scored_from, a) <
             std::tuple(y.ids.back(), y.scored_from, b);
    });
  }

  // Nodes below `parent` for places [first, last), which share `depth` tokens already.
  std::vector<int64_t> AddNodes(int64_t first, int64_t last, int64_t depth, int64_t parent) {
    std::vector<int64_t> added;
    for (int64_t begin = first; begin < last;) {
      int64_t end = begin + 1;
      int64_t shared = core::Size(Input(begin));
      // Requests with the same input join whatever its length: they compute the same thing.
      const auto joins = [&](int64_t place) {
        const int64_t common = common_[static_cast<size_t>(place)];
        const bool same = limits_.share_prefixes && common == core::Size(Input(place - 1)) &&
                          common == core::Size(Input(place));
        return common - depth >= kMinSharedTokens || same;
      };
      while (end < last && joins(end)) {
        shared = std::min(shared, common_[static_cast<size_t>(end)]);
        ++end;
      }
      const int64_t id = AddNode(parent, depth, shared, begin, end);
      // Inputs that end here sort first.
      int64_t rest = begin;
      while (rest < end && core::Size(Input(rest)) == shared) ++rest;
      std::vector<int64_t> children = AddNodes(rest, end, shared, id);
      plan_.nodes[static_cast<size_t>(id)].children = std::move(children);
      added.push_back(id);
      begin = end;
    }
    return added;
  }

  const TokenScoreRequest& At(int64_t place) const {
    return requests_[plan_.order[static_cast<size_t>(place)]];
  }

  // The first place after `first` that doesn't read the same context.
  int64_t EndOfContext(int64_t first) const {
    const int64_t context = At(first).scored_from;
    int64_t last = first + 1;
    while (limits_.share_prefixes && last < core::Size(plan_.order) &&
           At(last).scored_from == context && CommonPrefix(Input(first), Input(last)) >= context) {
      ++last;
    }
    return last;
  }

  int64_t AddNode(int64_t parent, int64_t begin, int64_t end, int64_t first, int64_t last) {
    PlanNode node;
    node.parent = parent;
    node.begin = begin;
    node.end = end;
    node.first = first;
    node.last = last;
    plan_.nodes.push_back(std::move(node));
    return core::Size(plan_.nodes) - 1;
  }

  // A context in steps of its own, then each longer continuation in steps of its own.
  void EmitAlone() {
    for (int64_t first = 0; first < core::Size(plan_.order);) {
      const int64_t last = EndOfContext(first);
      const int64_t context = At(first).scored_from;
      const int64_t root = AddNode(-1, 0, context, first, last);
      std::vector<int64_t> children;
      for (int64_t place = first; place < last;) {
        int64_t end = place + 1;
        // The same input twice is computed once.
        while (end < last && std::ranges::equal(Input(place), Input(end))) ++end;
        if (const int64_t length = core::Size(Input(place)); length > context) {
          children.push_back(AddNode(root, context, length, place, end));
        }
        place = end;
      }
      plan_.nodes[static_cast<size_t>(root)].children = children;
      EmitPieces(root);
      for (const int64_t child : children) EmitPieces(child);
      plan_.steps.back().release.push_back(root);
      first = last;
    }
  }

  struct Size {
    int64_t tokens = 0, nodes = 0, inner = 0;
  };
  Size SizeOf(int64_t id) const {
    const PlanNode& node = plan_.nodes[static_cast<size_t>(id)];
    Size size{node.end - node.begin, 1, node.children.empty() ? 0 : 1};
    for (const int64_t child : node.children) {
      const Size below = SizeOf(child);
      size.tokens += below.tokens;
      size.nodes += below.nodes;
      size.inner += below.inner;
    }
    return size;
  }
  bool Fits(const Size& size) const {
    return size.tokens <= limits_.batch_tokens && size.nodes <= limits_.max_sequences &&
           size.inner <= limits_.max_held;
  }

  // Siblings in order: several small subtrees make a unit; a large one runs its own tokens first.
  void Emit(const std::vector<int64_t>& siblings) {
    std::vector<int64_t> unit;
    Size size;
    const auto flush = [&] {
      if (!unit.empty()) EmitUnit(unit);
      unit.clear();
      size = {};
    };
    for (const int64_t id : siblings) {
      const Size own = SizeOf(id);
      const Size joined{size.tokens + own.tokens, size.nodes + own.nodes, size.inner + own.inner};
      if (!Fits(joined)) flush();
      if (!Fits(own)) {
        EmitLarge(id);
        continue;
      }
      unit.push_back(id);
      size = {size.tokens + own.tokens, size.nodes + own.nodes, size.inner + own.inner};
    }
    flush();
  }

  void EmitLarge(int64_t id) {
    EmitPieces(id);
    Emit(plan_.nodes[static_cast<size_t>(id)].children);
    plan_.steps.back().release.push_back(id);
  }

  // A node's own tokens, a step a piece.
  void EmitPieces(int64_t id) {
    const PlanNode& node = plan_.nodes[static_cast<size_t>(id)];
    for (int64_t begin = node.begin; begin < node.end; begin += limits_.batch_tokens) {
      const int64_t end = std::min(node.end, begin + limits_.batch_tokens);
      PlanStep step;
      step.first = node.first;
      step.last = node.last;
      step.pieces.push_back({id, begin, end, end < node.end || !node.children.empty()});
      if (end == node.end) Finish(node, step);
      plan_.steps.push_back(std::move(step));
    }
  }

  // All nodes of the unit's subtrees, a step a level.
  void EmitUnit(const std::vector<int64_t>& unit) {
    std::vector<int64_t> level = unit;
    std::vector<int64_t> held;
    const int64_t first = plan_.nodes[static_cast<size_t>(unit.front())].first;
    const int64_t last = plan_.nodes[static_cast<size_t>(unit.back())].last;
    while (!level.empty()) {
      PlanStep step;
      step.first = first;
      step.last = last;
      std::vector<int64_t> below;
      for (const int64_t id : level) {
        const PlanNode& node = plan_.nodes[static_cast<size_t>(id)];
        step.pieces.push_back({id, node.begin, node.end, !node.children.empty()});
        Finish(node, step);
        below.insert(below.end(), node.children.begin(), node.children.end());
        held.push_back(id);
      }
      plan_.steps.push_back(std::move(step));
      level = std::move(below);
    }
    auto& release = plan_.steps.back().release;
    release.insert(release.end(), held.begin(), held.end());
  }

  void Finish(const PlanNode& node, PlanStep& step) const {
    for (int64_t place = node.first; place < node.last; ++place) {
      if (core::Size(Input(place)) == node.end) {
        step.finished.push_back(plan_.order[static_cast<size_t>(place)]);
      }
    }
  }

  std::span<const TokenScoreRequest> requests_;
  PlanLimits limits_;
  ScorePlan plan_;
  std::vector<int64_t> common_;  ///< common prefix of the inputs of places i - 1 and i
};

}  // namespace

ScorePlan MakeScorePlan(std::span<const TokenScoreRequest> requests, const PlanLimits& limits) {
  return Planner(requests, limits).Make();
}

std::vector<int> SplitScorePlan(const ScorePlan& plan, int parts) {
  // Steps over the same places are one unit; a prefix of several units is computed by each part
  // that has one of them, so parts are runs of places.
  const size_t places = plan.order.size();
  std::vector<int64_t> cost(places, 0);  // of the unit, on its first place
  std::vector<size_t> unit(places);
  std::iota(unit.begin(), unit.end(), size_t{0});
  std::vector<size_t> place_of(places);
  for (size_t place = 0; place < places; ++place) place_of[plan.order[place]] = place;
  int64_t total = 0;
  for (const PlanStep& step : plan.steps) {
    int64_t tokens = 0;
    for (const PlanPiece& piece : step.pieces) tokens += piece.end - piece.begin;
    cost[static_cast<size_t>(step.first)] += tokens;
    total += tokens;
    for (const size_t request : step.finished) {
      unit[place_of[request]] = static_cast<size_t>(step.first);
    }
  }
  std::vector<int> part_of_unit(places, 0);
  int64_t before = 0;
  for (size_t place = 0; place < places; ++place) {
    const int64_t middle = before + cost[place] / 2;
    part_of_unit[place] =
        total == 0 ? 0 : static_cast<int>(std::min<int64_t>(parts - 1, middle * parts / total));
    before += cost[place];
  }
  std::vector<int> part(places);
  for (size_t place = 0; place < places; ++place) {
    part[plan.order[place]] = part_of_unit[unit[place]];
  }
  return part;
}

std::vector<int> SplitGroups(std::span<const int64_t> costs, int parts) {
  std::vector<size_t> order(costs.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return costs[a] > costs[b]; });
  std::vector<int64_t> load(static_cast<size_t>(parts), 0);
  std::vector<int> part(costs.size());
  for (const size_t group : order) {
    const auto least = std::ranges::min_element(load);
    *least += costs[group];
    part[group] = static_cast<int>(least - load.begin());
  }
  return part;
}

}  // namespace natsl::model_adapters
