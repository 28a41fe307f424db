// The delta rule: reference against small forms worked out by hand and as matrices, and the CPU
// kernel against the reference in whole sequences, packed batches, pieces and NAtS-L chunks.
#include "kernels/delta_rule.h"

#include "core/error.h"
#include "kernels/cpu/mixer_chunked.h"
#include "tests/kernels/mixer_support.h"

namespace natsl::kernels {
namespace {

using namespace testing;

struct DeltaShape {
  int64_t heads = 2, value_heads = 2, key_dim = 32, value_dim = 48;
};

enum class Keep { kPlain, kAll, kNone, kMixed };  // kPlain: no NAtS-L

struct DeltaOutcome {
  Floats o;
  std::vector<Floats> states, chunk_starts, chunk_log_decays;
};

// The CPU kernel by vectors and, where the processor has them, by tiles.
std::vector<std::pair<const char*, void (*)(const DeltaRuleArgs&)>> DeltaForms() {
  std::vector<std::pair<const char*, void (*)(const DeltaRuleArgs&)>> forms = {
      {"vectors",
       [](const DeltaRuleArgs& args) { RunDeltaRuleBy(args, ChunkProducts::kVectors); }}};
  if (AmxUsable()) {
    forms.emplace_back(
        "tiles", [](const DeltaRuleArgs& args) { RunDeltaRuleBy(args, ChunkProducts::kTiles); });
  }
  return forms;
}

// A packed batch with its initial states; every run starts from copies of them.
class DeltaProblem {
 public:
  DeltaProblem(uint64_t seed, const DeltaShape& shape, std::vector<int64_t> lengths, Decay decay,
               float largest_beta = 1, Keep keep = Keep::kPlain, int64_t first_position = 0)
      : shape_(shape), lengths_(std::move(lengths)), keep_(keep), first_position_(first_position) {
    Random random(seed);
    const int64_t tokens = Sum(lengths_),
                  state = shape.value_heads * shape.key_dim * shape.value_dim;
    q_ = UnitRows(random, tokens * shape.heads);
    k_ = UnitRows(random, tokens * shape.heads);
    v_ = random.Normals(tokens * shape.value_heads * shape.value_dim);
    g_ = LogDecays(random, tokens * shape.value_heads, decay);
    beta_ = random.Uniforms(tokens * shape.value_heads, 0, largest_beta);
    for (const int64_t length : lengths_) {
      initial_.states.push_back(random.Normals(state, 0.3f));
      initial_.chunk_starts.push_back(random.Normals(state, 0.3f));
      initial_.chunk_log_decays.push_back(random.Uniforms(shape.value_heads, -2, 0));
      std::vector<uint8_t> flags;
      for (int64_t i = 0; i < (length / kPageTokens + 2) * shape.value_heads; ++i) {
        flags.push_back(keep == Keep::kAll ||
                        (keep == Keep::kMixed && random.Uniform(0, 1) < 0.5f));
      }
      flags_.push_back(flags);
    }
    initial_.o.assign(static_cast<size_t>(tokens * shape.value_heads * shape.value_dim), -7.0f);
  }

  // Values, initial states and chunk starts times `factor`.
  void ScaleValues(float factor) {
    for (float& value : v_) value *= factor;
    for (std::vector<Floats>* states : {&initial_.states, &initial_.chunk_starts}) {
      for (Floats& state : *states) {
        for (float& value : state) value *= factor;
      }
    }
  }

  // Column `column` of head 0 of token `token`.
  void BreakValue(int64_t token, int64_t column) {
    v_[static_cast<size_t>(token * shape_.value_heads * shape_.value_dim + column)] =
        std::numeric_limits<float>::quiet_NaN();
  }

  bool decay_over_softmax_chunks = true;
  bool has_decay = true;
  OwnChunkRule own_chunk = OwnChunkRule::kAll;

  DeltaOutcome Run(void (*kernel)(const DeltaRuleArgs&),
                   const std::vector<int64_t>& cuts = {}) const {
    DeltaOutcome outcome = initial_;
    const int64_t qk = shape_.heads * shape_.key_dim;
    const int64_t values = shape_.value_heads * shape_.value_dim;
    for (const Piece& piece : CutPieces(lengths_, cuts)) {
      // q and k side by side: rows with a stride.
      Floats both;
      for (const int64_t row : piece.rows) {
        both.insert(both.end(), q_.begin() + row * qk, q_.begin() + (row + 1) * qk);
        both.insert(both.end(), k_.begin() + row * qk, k_.begin() + (row + 1) * qk);
      }
      const Floats v = Gather(v_, piece.rows, values);
      const Floats g = Gather(g_, piece.rows, shape_.value_heads);
      const Floats beta = Gather(beta_, piece.rows, shape_.value_heads);
      Floats o(v.size(), -7.0f);
      const std::vector<float*> states = Pointers(outcome.states);
      std::vector<NatsDeltaState> nats(lengths_.size());
      for (size_t s = 0; s < lengths_.size(); ++s) {
        nats[s].chunk_start = outcome.chunk_starts[s].data();
        nats[s].chunk_log_decay = outcome.chunk_log_decays[s].data();
        nats[s].first_position = first_position_ + piece.begins[s];
        const int64_t chunk = nats[s].first_position / kPageTokens - first_position_ / kPageTokens;
        nats[s].keep = flags_[s].data() + chunk * shape_.value_heads;
      }
      DeltaRuleArgs args;
      args.q = both.data();
      args.k = both.data() + qk;
      args.q_stride = args.k_stride = 2 * qk;
      args.v = v.data();
      args.v_stride = values;
      args.g = has_decay ? g.data() : nullptr;
      args.beta = beta.data();
      args.o = o.data();
      args.states = states.data();
      args.nats = keep_ == Keep::kPlain ? nullptr : nats.data();
      args.decay_over_softmax_chunks = decay_over_softmax_chunks;
      args.own_chunk = own_chunk;
      args.offsets = piece.offsets.data();
      args.sequences = static_cast<int64_t>(lengths_.size());
      args.heads = shape_.heads;
      args.value_heads = shape_.value_heads;
      args.key_dim = shape_.key_dim;
      args.value_dim = shape_.value_dim;
      args.scale = 1 / std::sqrt(static_cast<double>(shape_.key_dim));
      // Empty vectors may have null data; rows are what Validate looks for.
      if (!piece.rows.empty()) Validate(args);
      kernel(args);
      Scatter(o, piece.rows, values, outcome.o);
    }
    return outcome;
  }

  void ExpectSame(const DeltaOutcome& actual, const DeltaOutcome& expected) const {
    ExpectClose(actual.o, expected.o, kDeltaRuleTolerance, "o");
    for (size_t s = 0; s < lengths_.size(); ++s) {
      const std::string sequence = " of sequence " + std::to_string(s);
      ExpectClose(actual.states[s], expected.states[s], kDeltaRuleTolerance, "state" + sequence);
      if (keep_ == Keep::kPlain || (first_position_ + lengths_[s]) % kPageTokens == 0) continue;
      ExpectClose(actual.chunk_starts[s], expected.chunk_starts[s], kDeltaRuleTolerance,
                  "chunk start" + sequence);
      ExpectClose(actual.chunk_log_decays[s], expected.chunk_log_decays[s], kDeltaRuleTolerance,
                  "chunk log decay" + sequence);
    }
  }

  // By every kind of product that this processor has.
  void ExpectCpuMatches(const std::vector<int64_t>& cuts = {}) const {
    const DeltaOutcome expected = Run(RunDeltaRuleReference);
    for (const auto& [name, kernel] : DeltaForms()) {
      SCOPED_TRACE(name);
      ExpectSame(Run(kernel, cuts), expected);
    }
  }

 private:
  Floats UnitRows(Random& random, int64_t rows) const {
    Floats values = random.Normals(rows * shape_.key_dim);
    for (int64_t r = 0; r < rows; ++r) {
      float sum = 0;
      float* row = values.data() + r * shape_.key_dim;
      for (int64_t i = 0; i < shape_.key_dim; ++i) sum += row[i] * row[i];
      for (int64_t i = 0; i < shape_.key_dim; ++i) row[i] /= std::sqrt(sum);
    }
    return values;
  }

  DeltaShape shape_;
  std::vector<int64_t> lengths_;
  Keep keep_;
  int64_t first_position_;
  Floats q_, k_, v_, g_, beta_;
  std::vector<std::vector<uint8_t>> flags_;
  DeltaOutcome initial_;
};

TEST(DeltaRule, ReferenceEqualsValuesWorkedOutByHand) {
  // K = 2, V = 1. exp(g) = 1/2 for the second token.
  const Floats q = {1, 2, 1, 1}, k = {1, 0, 1, 1}, v = {4, 6}, beta = {0.5f, 1};
  const Floats g = {0, std::log(0.5f)};
  Floats o(2), state = {2, 10};
  float* states[] = {state.data()};
  const int64_t offsets[] = {0, 2};
  DeltaRuleArgs args;
  args.q = q.data();
  args.k = k.data();
  args.v = v.data();
  args.g = g.data();
  args.beta = beta.data();
  args.o = o.data();
  args.states = states;
  args.offsets = offsets;
  args.sequences = args.heads = args.value_heads = args.value_dim = 1;
  args.key_dim = args.q_stride = args.k_stride = 2;
  args.v_stride = 1;
  args.scale = 3;
  Validate(args);
  for (const auto kernel : {RunDeltaRuleReference, RunDeltaRuleCpu}) {
    state = {2, 10};
    kernel(args);
    // u = 0.5 (4 - 2) = 1: S = (3, 10), o = 3 (3 + 20). Then S = (1.5, 5), u = 6 - 6.5 = -0.5.
    EXPECT_FLOAT_EQ(o[0], 69);
    EXPECT_FLOAT_EQ(state[0], 1);
    EXPECT_FLOAT_EQ(state[1], 4.5);
    EXPECT_FLOAT_EQ(o[1], 16.5);
  }
}

TEST(DeltaRule, CpuEqualsReferenceForLengthsAndDecays) {
  for (const int64_t length : kLengths) {
    for (const Decay decay : kDecays) {
      SCOPED_TRACE(::testing::Message() << "length " << length << " decay " << int(decay));
      DeltaProblem(1 + length, {}, {length}, decay).ExpectCpuMatches();
    }
  }
}

TEST(DeltaRule, CpuEqualsReferenceForShapes) {
  for (const DeltaShape& shape :
       {DeltaShape{1, 1, 1, 1}, DeltaShape{1, 1, 7, 5}, DeltaShape{1, 2, 16, 130},
        DeltaShape{2, 6, 33, 65}, DeltaShape{3, 3, 128, 64}, DeltaShape{1, 1, 192, 384}}) {
    SCOPED_TRACE(::testing::Message()
                 << shape.value_heads << " x " << shape.key_dim << " x " << shape.value_dim);
    DeltaProblem(2, shape, {150, 3}, Decay::kWeak).ExpectCpuMatches();
  }
}

TEST(DeltaRule, NegativeEigenvaluesWithoutDecay) {
  DeltaProblem problem(3, {}, {1003}, Decay::kNone, 2);
  problem.ExpectCpuMatches();
  problem.has_decay = false;
  problem.ExpectCpuMatches();
}

TEST(DeltaRule, PackedBatchWithEmptySequences) {
  DeltaProblem(4, {1, 3, 24, 40}, {5, 0, 64, 131, 1, 0, 77}, Decay::kWeak, 2).ExpectCpuMatches();
}

TEST(DeltaRule, PiecesWithCarriedStateEqualTheWhole) {
  for (const std::vector<int64_t>& cuts :
       {std::vector<int64_t>{1}, {63}, {64}, {65}, {10, 20, 100}, {17, 64, 128, 129}}) {
    SCOPED_TRACE(::testing::Message() << "first cut " << cuts[0]);
    DeltaProblem(5, {}, {200, 90, 30}, Decay::kMixed, 2).ExpectCpuMatches(cuts);
  }
}

TEST(DeltaRule, DecodeEqualsPrefill) {
  std::vector<int64_t> cuts;
  for (int64_t t = 1; t < 140; ++t) cuts.push_back(t);
  DeltaProblem(6, {}, {140, 70}, Decay::kWeak).ExpectCpuMatches(cuts);
  for (const OwnChunkRule rule : {OwnChunkRule::kAll, OwnChunkRule::kPastOnly}) {
    DeltaProblem nats(7, {}, {140, 70}, Decay::kWeak, 1, Keep::kMixed, 30);
    nats.own_chunk = rule;
    nats.ExpectCpuMatches(cuts);
  }
}

TEST(DeltaRule, NatsChunks) {
  for (const Keep keep : {Keep::kAll, Keep::kNone, Keep::kMixed}) {
    for (const int64_t first_position : {0, 1, 40, 63, 64, 1000}) {
      for (const bool decay_over : {false, true}) {
        for (const OwnChunkRule rule : {OwnChunkRule::kAll, OwnChunkRule::kPastOnly}) {
          SCOPED_TRACE(::testing::Message()
                       << "keep " << int(keep) << " first position " << first_position
                       << " decay over softmax chunks " << decay_over << " rule " << int(rule));
          DeltaProblem problem(8 + first_position, {1, 3, 24, 40}, {300, 24, 64, 1}, Decay::kWeak,
                               1.5f, keep, first_position);
          problem.decay_over_softmax_chunks = decay_over;
          problem.own_chunk = rule;
          problem.ExpectCpuMatches();
          problem.ExpectCpuMatches({20, 64, 128, 150});
        }
      }
    }
  }
}

TEST(DeltaRule, NatsChunksUnderStrongDecay) {
  for (const Decay decay : kDecays) {
    SCOPED_TRACE(::testing::Message() << "decay " << int(decay));
    DeltaProblem(9, {}, {333}, decay, 2, Keep::kMixed, 17).ExpectCpuMatches({100, 111});
  }
}

TEST(DeltaRule, KeepingAllChunksIsThePlainRule) {
  const DeltaProblem plain(10, {}, {257}, Decay::kWeak);
  const DeltaProblem nats(10, {}, {257}, Decay::kWeak, 1, Keep::kAll);
  ExpectClose(nats.Run(RunDeltaRuleReference).o, plain.Run(RunDeltaRuleReference).o, 0, "o");
  ExpectClose(nats.Run(RunDeltaRuleCpu).o, plain.Run(RunDeltaRuleCpu).o, 0, "o");
}

// Outputs and states are linear in values and states, and powers of two are exact.
TEST(DeltaRule, ValuesOfAnySize) {
  for (const Keep keep : {Keep::kPlain, Keep::kMixed}) {
    for (const auto& [name, kernel] : DeltaForms()) {
      DeltaProblem problem(12, {1, 2, 40, 70}, {150}, Decay::kWeak, 1, keep);
      const DeltaOutcome plain = problem.Run(kernel);
      for (const float factor : {0x1p60f, 0x1p-40f}) {
        SCOPED_TRACE(::testing::Message() << name << " times " << factor);
        DeltaProblem scaled = problem;
        scaled.ScaleValues(factor);
        const DeltaOutcome outcome = scaled.Run(kernel);
        ExpectTimes(outcome.o, plain.o, factor);
        ExpectTimes(outcome.states[0], plain.states[0], factor);
      }
    }
  }
}

// What isn't a number stays visible from its token on, in its column alone.
TEST(DeltaRule, BrokenValuesAreSeen) {
  constexpr int64_t kToken = 70, kColumn = 17;
  for (const auto& [name, kernel] : DeltaForms()) {
    SCOPED_TRACE(name);
    DeltaProblem problem(13, {}, {150}, Decay::kWeak);
    problem.BreakValue(kToken, kColumn);
    ExpectBroken(problem.Run(kernel).o, 96, kToken, kColumn);
  }
}

TEST(DeltaRule, SameBytesForAnyTeam) {
  const DeltaProblem problem(11, {2, 4, 32, 200}, {300, 5}, Decay::kWeak, 1, Keep::kMixed, 5);
  for (const auto& [name, kernel] : DeltaForms()) {
    SCOPED_TRACE(name);
    DeltaOutcome expected;
    WithThreads(1, [&] { expected = problem.Run(kernel); });
    for (const int threads : {2, 3, 7, 16}) {
      WithThreads(threads, [&] {
        const DeltaOutcome actual = problem.Run(kernel);
        EXPECT_EQ(actual.o, expected.o) << threads;
        EXPECT_EQ(actual.states, expected.states) << threads;
        EXPECT_EQ(actual.chunk_starts, expected.chunk_starts) << threads;
      });
    }
  }
}

TEST(DeltaRule, ValidateNamesTheArgument) {
  DeltaRuleArgs args;
  const auto message = [&] {
    try {
      Validate(args);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_NE(message().find("value_heads"), std::string::npos) << message();
  args.value_heads = 4;
  args.heads = 3;
  EXPECT_NE(message().find("heads is 3"), std::string::npos) << message();
  args.heads = 2;
  args.key_dim = args.value_dim = 8;
  EXPECT_EQ(message(), "accepted");  // no sequence, nothing to do
  const int64_t offsets[] = {0, 4, 2};
  args.offsets = offsets;
  args.sequences = 2;
  float state = 0;
  float* states[] = {&state, nullptr};
  args.states = states;
  EXPECT_NE(message().find("offsets[2]"), std::string::npos) << message();
}

}  // namespace
}  // namespace natsl::kernels
