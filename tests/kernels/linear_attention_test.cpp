// Linear attention: reference against the quadratic form, and the CPU kernel against the reference
// for the shapes of every family, in whole sequences, packed batches and pieces.
#include "kernels/linear_attention.h"

#include "core/error.h"
#include "kernels/cpu/mixer_chunked.h"
#include "tests/kernels/mixer_support.h"

namespace natsl::kernels {
namespace {

using namespace testing;

struct LinearShape {
  const char* name = "GLA";
  int64_t heads = 2, q_heads = 2, kv_heads = 2, v_heads = 2, key_dim = 32, value_dim = 48;
  DecayKind decay = DecayKind::kVectorPerToken;
  bool bonus = false;
};

// One of each family, small.
const std::vector<LinearShape> kFamilies = {
    {"GLA", 4, 4, 2, 2, 32, 48, DecayKind::kVectorPerToken, false},
    {"HGRN2", 2, 2, 2, 2, 64, 64, DecayKind::kVectorPerToken, false},
    {"RetNet", 4, 4, 2, 2, 40, 130, DecayKind::kScalarPerHead, false},
    {"Mamba2", 6, 2, 2, 6, 32, 16, DecayKind::kScalarPerToken, false},
    {"RWKV6", 2, 2, 2, 2, 24, 40, DecayKind::kVectorPerToken, true},
    {"scalar decay with bonus", 2, 1, 2, 1, 16, 20, DecayKind::kScalarPerToken, true},
    {"one element", 1, 1, 1, 1, 1, 1, DecayKind::kVectorPerToken, true},
    {"odd", 1, 1, 1, 1, 7, 65, DecayKind::kVectorPerToken, false},
    {"wide", 1, 1, 1, 1, 256, 70, DecayKind::kVectorPerToken, false},
};

struct LinearOutcome {
  Floats o;
  std::vector<Floats> states;
};

// The CPU kernel by vectors and, where the processor has them, by tiles.
std::vector<std::pair<const char*, void (*)(const LinearAttentionArgs&)>> Forms() {
  std::vector<std::pair<const char*, void (*)(const LinearAttentionArgs&)>> forms = {
      {"vectors", [](const LinearAttentionArgs& args) {
         RunLinearAttentionBy(args, ChunkProducts::kVectors);
       }}};
  if (AmxUsable()) {
    forms.emplace_back("tiles", [](const LinearAttentionArgs& args) {
      RunLinearAttentionBy(args, ChunkProducts::kTiles);
    });
  }
  return forms;
}

class LinearProblem {
 public:
  LinearProblem(uint64_t seed, const LinearShape& shape, std::vector<int64_t> lengths, Decay decay)
      : shape_(shape), lengths_(std::move(lengths)) {
    Random random(seed);
    const int64_t tokens = Sum(lengths_);
    q_ = random.Normals(tokens * shape.q_heads * shape.key_dim);
    k_ = random.Normals(tokens * shape.kv_heads * shape.key_dim);
    v_ = random.Normals(tokens * shape.v_heads * shape.value_dim);
    g_ = LogDecays(random, DecayRows(tokens) * DecayWidth(), decay);
    bonus_ = random.Normals(shape.heads * shape.key_dim);
    for (size_t s = 0; s < lengths_.size(); ++s) {
      initial_.states.push_back(random.Normals(shape.heads * shape.key_dim * shape.value_dim));
    }
    initial_.o.assign(static_cast<size_t>(tokens * shape.heads * shape.value_dim), -7.0f);
  }

  LinearOutcome Run(void (*kernel)(const LinearAttentionArgs&),
                    const std::vector<int64_t>& cuts = {}) const {
    LinearOutcome outcome = initial_;
    for (const Piece& piece : CutPieces(lengths_, cuts)) {
      const Floats q = Gather(q_, piece.rows, shape_.q_heads * shape_.key_dim);
      const Floats k = Gather(k_, piece.rows, shape_.kv_heads * shape_.key_dim);
      const Floats v = Gather(v_, piece.rows, shape_.v_heads * shape_.value_dim);
      const Floats g =
          shape_.decay == DecayKind::kScalarPerHead ? g_ : Gather(g_, piece.rows, DecayWidth());
      const int64_t width = shape_.heads * shape_.value_dim;
      Floats o(piece.rows.size() * static_cast<size_t>(width), -7.0f);
      const std::vector<float*> states = Pointers(outcome.states);
      LinearAttentionArgs args;
      args.q = q.data();
      args.q_stride = shape_.q_heads * shape_.key_dim;
      args.k = k.data();
      args.k_stride = shape_.kv_heads * shape_.key_dim;
      args.v = v.data();
      args.v_stride = shape_.v_heads * shape_.value_dim;
      args.g = g.data();
      args.decay = shape_.decay;
      args.bonus = shape_.bonus ? bonus_.data() : nullptr;
      args.o = o.data();
      args.states = states.data();
      args.offsets = piece.offsets.data();
      args.sequences = static_cast<int64_t>(lengths_.size());
      args.heads = shape_.heads;
      args.q_heads = shape_.q_heads;
      args.kv_heads = shape_.kv_heads;
      args.v_heads = shape_.v_heads;
      args.key_dim = shape_.key_dim;
      args.value_dim = shape_.value_dim;
      args.scale = Scale();
      if (!piece.rows.empty()) Validate(args);
      kernel(args);
      Scatter(o, piece.rows, width, outcome.o);
    }
    return outcome;
  }

  // Values and initial states times `factor`.
  void ScaleValues(float factor) {
    for (float& value : v_) value *= factor;
    for (Floats& state : initial_.states) {
      for (float& value : state) value *= factor;
    }
  }

  // Tokens' queries and keys from a thousandth to a thousand times their size.
  void VarySizes() {
    Random random(99);
    for (const auto& [rows, width] : {std::pair{&q_, shape_.q_heads * shape_.key_dim},
                                      {&k_, shape_.kv_heads * shape_.key_dim}}) {
      for (size_t i = 0; i < rows->size(); i += static_cast<size_t>(width)) {
        const float factor = std::pow(10.0f, random.Uniform(-3, 3));
        for (int64_t c = 0; c < width; ++c) (*rows)[i + static_cast<size_t>(c)] *= factor;
      }
    }
  }

  // Column `column` of value head 0 of token `token`.
  void BreakValue(int64_t token, int64_t column) {
    v_[static_cast<size_t>(token * shape_.v_heads * shape_.value_dim + column)] =
        std::numeric_limits<float>::quiet_NaN();
  }

  // By every kind of product that this processor has.
  void ExpectCpuMatches(const std::vector<int64_t>& cuts = {}) const {
    const LinearOutcome expected = Run(RunLinearAttentionReference);
    for (const auto& [name, kernel] : Forms()) {
      SCOPED_TRACE(name);
      const LinearOutcome actual = Run(kernel, cuts);
      ExpectClose(actual.o, expected.o, kLinearAttentionTolerance, "o");
      for (size_t s = 0; s < lengths_.size(); ++s) {
        ExpectClose(actual.states[s], expected.states[s], kLinearAttentionTolerance,
                    "state of sequence " + std::to_string(s));
      }
    }
  }

  // The outputs of a single sequence as sums over all earlier tokens, from the definition of S.
  Floats Quadratic() const {
    Floats result = initial_.o;
    const int64_t key_dim = shape_.key_dim, value_dim = shape_.value_dim, length = lengths_[0];
    for (int64_t n = 0; n < shape_.heads; ++n) {
      const int64_t qh = n / (shape_.heads / shape_.q_heads);
      const int64_t kh = n / (shape_.heads / shape_.kv_heads);
      const int64_t vh = n / (shape_.heads / shape_.v_heads);
      for (int64_t t = 0; t < length; ++t) {
        for (int64_t p = 0; p < value_dim; ++p) {
          double sum = 0;
          for (int64_t c = 0; c < key_dim; ++c) {
            const double query = q_[(t * shape_.q_heads + qh) * key_dim + c];
            // With a bonus the output reads the state before this token's decay.
            const int64_t until = shape_.bonus ? t - 1 : t;
            sum += query * std::exp(LogDecay(n, c, 0, until)) *
                   initial_.states[0][(n * key_dim + c) * value_dim + p];
            for (int64_t j = 0; j <= t; ++j) {
              double factor = j <= until ? std::exp(LogDecay(n, c, j + 1, until)) : 0;
              if (shape_.bonus && j == t) factor = bonus_[n * key_dim + c];
              sum += query * factor * k_[(j * shape_.kv_heads + kh) * key_dim + c] *
                     v_[(j * shape_.v_heads + vh) * value_dim + p];
            }
          }
          result[(t * shape_.heads + n) * value_dim + p] = static_cast<float>(Scale() * sum);
        }
      }
    }
    return result;
  }

 private:
  double Scale() const { return 1 / std::sqrt(static_cast<double>(shape_.key_dim)); }

  int64_t DecayRows(int64_t tokens) const {
    return shape_.decay == DecayKind::kScalarPerHead ? 1 : tokens;
  }
  int64_t DecayWidth() const {
    return shape_.decay == DecayKind::kVectorPerToken ? shape_.kv_heads * shape_.key_dim
                                                      : shape_.heads;
  }

  // Sum of log decays of tokens [from, to] for channel c of head n.
  double LogDecay(int64_t n, int64_t c, int64_t from, int64_t to) const {
    double sum = 0;
    const int64_t kh = n / (shape_.heads / shape_.kv_heads);
    for (int64_t t = from; t <= to; ++t) {
      if (shape_.decay == DecayKind::kScalarPerHead) sum += g_[n];
      if (shape_.decay == DecayKind::kScalarPerToken) sum += g_[t * shape_.heads + n];
      if (shape_.decay == DecayKind::kVectorPerToken) {
        sum += g_[(t * shape_.kv_heads + kh) * shape_.key_dim + c];
      }
    }
    return sum;
  }

  LinearShape shape_;
  std::vector<int64_t> lengths_;
  Floats q_, k_, v_, g_, bonus_;
  LinearOutcome initial_;
};

TEST(LinearAttention, ReferenceEqualsTheQuadraticForm) {
  for (const LinearShape& shape : kFamilies) {
    SCOPED_TRACE(shape.name);
    const LinearProblem problem(1, shape, {9}, Decay::kWeak);
    ExpectClose(problem.Run(RunLinearAttentionReference).o, problem.Quadratic(), 1e-6, "o");
  }
}

TEST(LinearAttention, CpuEqualsReferenceForLengthsAndDecays) {
  for (const LinearShape& shape : kFamilies) {
    for (const int64_t length : kLengths) {
      if (length > 200 && shape.key_dim > 64) continue;
      for (const Decay decay : kDecays) {
        SCOPED_TRACE(::testing::Message()
                     << shape.name << " length " << length << " decay " << int(decay));
        LinearProblem(2 + length, shape, {length}, decay).ExpectCpuMatches();
      }
    }
  }
}

TEST(LinearAttention, PackedBatchWithEmptySequences) {
  for (const LinearShape& shape : kFamilies) {
    SCOPED_TRACE(shape.name);
    LinearProblem(3, shape, {5, 0, 64, 131, 1, 0, 77}, Decay::kWeak).ExpectCpuMatches();
  }
}

TEST(LinearAttention, PiecesWithCarriedStateEqualTheWhole) {
  for (const LinearShape& shape : kFamilies) {
    for (const std::vector<int64_t>& cuts :
         {std::vector<int64_t>{1}, {63}, {64}, {65}, {10, 20, 100}, {17, 64, 128, 129}}) {
      SCOPED_TRACE(::testing::Message() << shape.name << " first cut " << cuts[0]);
      LinearProblem(4, shape, {200, 90, 30}, Decay::kMixed).ExpectCpuMatches(cuts);
    }
  }
}

TEST(LinearAttention, DecodeEqualsPrefill) {
  std::vector<int64_t> cuts;
  for (int64_t t = 1; t < 100; ++t) cuts.push_back(t);
  for (const LinearShape& shape : kFamilies) {
    SCOPED_TRACE(shape.name);
    LinearProblem(5, shape, {100, 33}, Decay::kWeak).ExpectCpuMatches(cuts);
  }
}

TEST(LinearAttention, TokensOfVariousSizes) {
  for (const LinearShape& shape : kFamilies) {
    SCOPED_TRACE(shape.name);
    LinearProblem problem(21, shape, {200}, Decay::kWeak);
    problem.VarySizes();
    problem.ExpectCpuMatches();
  }
}

// Outputs and states are linear in values and states, and powers of two are exact.
TEST(LinearAttention, ValuesOfAnySize) {
  for (const LinearShape& shape : kFamilies) {
    for (const auto& [name, kernel] : Forms()) {
      LinearProblem problem(22, shape, {150}, Decay::kWeak);
      const LinearOutcome plain = problem.Run(kernel);
      for (const float factor : {0x1p60f, 0x1p-40f}) {
        SCOPED_TRACE(::testing::Message() << shape.name << " by " << name << " times " << factor);
        LinearProblem scaled = problem;
        scaled.ScaleValues(factor);
        const LinearOutcome outcome = scaled.Run(kernel);
        ExpectTimes(outcome.o, plain.o, factor);
        ExpectTimes(outcome.states[0], plain.states[0], factor);
      }
    }
  }
}

// What isn't a number stays visible from its token on, in its column alone.
TEST(LinearAttention, BrokenValuesAreSeen) {
  const LinearShape shape{"GLA", 2, 2, 2, 2, 32, 48, DecayKind::kVectorPerToken, false};
  constexpr int64_t kToken = 70, kColumn = 17;
  for (const auto& [name, kernel] : Forms()) {
    SCOPED_TRACE(name);
    LinearProblem problem(23, shape, {150}, Decay::kWeak);
    problem.BreakValue(kToken, kColumn);
    ExpectBroken(problem.Run(kernel).o, 96, kToken, kColumn);
  }
}

TEST(LinearAttention, SameBytesForAnyTeam) {
  for (const LinearShape& shape : kFamilies) {
    const LinearProblem problem(6, shape, {200, 5}, Decay::kWeak);
    for (const auto& [name, kernel] : Forms()) {
      SCOPED_TRACE(::testing::Message() << shape.name << " by " << name);
      LinearOutcome expected;
      WithThreads(1, [&] { expected = problem.Run(kernel); });
      for (const int threads : {2, 3, 7, 16}) {
        WithThreads(threads, [&] {
          const LinearOutcome actual = problem.Run(kernel);
          EXPECT_EQ(actual.o, expected.o) << threads;
          EXPECT_EQ(actual.states, expected.states) << threads;
        });
      }
    }
  }
}

TEST(LinearAttention, ValidateNamesTheArgument) {
  LinearAttentionArgs args;
  args.heads = 6;
  args.q_heads = 2;
  args.kv_heads = 4;
  args.v_heads = 6;
  args.key_dim = args.value_dim = 8;
  try {
    Validate(args);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("kv_heads is 4"), std::string::npos) << error.what();
    EXPECT_EQ(error.code(), ErrorCode::kInternal);
  }
}

}  // namespace
}  // namespace natsl::kernels
