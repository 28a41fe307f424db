// Paged attention: the definition against closed forms, the processor against the definition.
#include "kernels/paged_attention.h"

#include <limits>

#include "core/error.h"
#include "tests/kernels/dense_support.h"

namespace natsl::kernels::testing {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Shape {
  int64_t groups = 1, kv_heads = 1, shared = 1, key_dim = 64, value_dim = 64, window = 0;

  int64_t QueryHeads() const { return groups * kv_heads * shared; }
  std::string Name() const {
    return "groups " + std::to_string(groups) + " kv heads " + std::to_string(kv_heads) +
           " shared " + std::to_string(shared) + " dims " + std::to_string(key_dim) + ", " +
           std::to_string(value_dim) + " window " + std::to_string(window);
  }
};

/// A sequence with `past` keys before `tokens` queries.
struct Span {
  int64_t past = 0, tokens = 0;
};

/// A batch in pages. Slots without a key hold NaN; pages before every window are null.
class Batch {
 public:
  Batch(uint64_t seed, const Shape& shape, const std::vector<Span>& spans, int64_t block_size)
      : Batch(Random(seed), shape, spans, block_size) {}

  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  Floats Run(void (*kernel)(const PagedAttentionArgs&)) {
    Matrix o(rows_, shape_.QueryHeads() * shape_.value_dim, 7);
    args.o = o.data();
    args.o_stride = o.stride();
    Validate(args);
    kernel(args);
    return o.Values();
  }

  PagedAttentionArgs args;

 private:
  Batch(Random random, const Shape& shape, const std::vector<Span>& spans, int64_t block_size)
      : shape_(shape),
        rows_(Rows(spans)),
        q_(Matrix::Normals(random, rows_, shape.QueryHeads() * shape.key_dim, 5)) {
    size_t lists = 0;
    for (const Span& span : spans) {
      lists += static_cast<size_t>(shape.groups * (1 + span.tokens / block_size + 1));
    }
    key_lists_.reserve(lists);
    value_lists_.reserve(lists);
    int64_t row = 0;
    for (const Span& span : spans) {
      for (int64_t group = 0; group < shape.groups; ++group) {
        AddSequence(random, span, group, row, block_size);
      }
      row += span.tokens;
    }
    args.q = q_.data();
    args.q_stride = q_.stride();
    args.blocks = blocks_.data();
    args.block_count = static_cast<int64_t>(blocks_.size());
    args.groups = shape.groups;
    args.query_heads = shape.QueryHeads();
    args.kv_heads_per_group = shape.kv_heads;
    args.key_dim = shape.key_dim;
    args.value_dim = shape.value_dim;
    args.window = shape.window;
    args.scale = 1.0 / std::sqrt(static_cast<double>(shape.key_dim));
  }

  static int64_t Rows(const std::vector<Span>& spans) {
    int64_t rows = 0;
    for (const Span& span : spans) rows += span.tokens;
    return rows;
  }

  const void* NewPage(Random& random, int64_t keys, int64_t dim) {
    pages_.push_back(Floats(static_cast<size_t>(shape_.kv_heads * kPageTokens * dim), kNan));
    for (int64_t head = 0; head < shape_.kv_heads; ++head) {
      for (int64_t i = 0; i < keys * dim; ++i) {
        pages_.back()[static_cast<size_t>(head * kPageTokens * dim + i)] = random.Normal();
      }
    }
    return pages_.back().data();
  }

  void AddSequence(Random& random, const Span& span, int64_t group, int64_t row,
                   int64_t block_size) {
    std::vector<const void*> keys, values;
    for (int64_t key = 0; key < span.past + span.tokens; key += kPageTokens) {
      const int64_t count = std::min(kPageTokens, span.past + span.tokens - key);
      keys.push_back(NewPage(random, count, shape_.key_dim));
      values.push_back(NewPage(random, count, shape_.value_dim));
    }
    for (int64_t first = 0; first < span.tokens; first += block_size) {
      AttentionBlock block;
      block.query_row = row + first;
      block.query_count = std::min(block_size, span.tokens - first);
      block.group = group;
      block.first_key = span.past + first;
      key_lists_.push_back(keys);
      value_lists_.push_back(values);
      PagedAttentionArgs window;
      window.window = shape_.window;
      for (int64_t page = 0; page < FirstVisiblePage(window, block); ++page) {
        key_lists_.back()[static_cast<size_t>(page)] = nullptr;
        value_lists_.back()[static_cast<size_t>(page)] = nullptr;
      }
      block.key_pages = key_lists_.back().data();
      block.value_pages = value_lists_.back().data();
      blocks_.push_back(block);
    }
  }

  Shape shape_;
  int64_t rows_;
  Matrix q_;
  std::vector<Floats> pages_;
  std::vector<std::vector<const void*>> key_lists_, value_lists_;
  std::vector<AttentionBlock> blocks_;
};

void ExpectAgreement(const std::string& target, const Shape& shape, const std::vector<Span>& spans,
                     int64_t block_size) {
  Batch batch(1, shape, spans, block_size);
  const Floats actual = batch.Run(RunPagedAttentionCpu);
  ExpectClose(actual, batch.Run(RunPagedAttentionReference), kAttentionTolerance,
              target + " " + shape.Name() + " blocks of " + std::to_string(block_size));
}

TEST(PagedAttentionReference, HandValues) {
  // One head; keys 0 and ln 3 (with scale 1): weights 1/4, 3/4 for the second query.
  Floats keys(64), values(128);
  keys[1] = std::log(3.0F);
  values[0] = 8;
  values[1] = 1;
  values[2] = 4;
  values[3] = 5;
  const void* key_pages[] = {keys.data()};
  const void* value_pages[] = {values.data()};
  const Floats q = {1, 1};
  Floats o(4);
  AttentionBlock block;
  block.query_count = 2;
  block.key_pages = key_pages;
  block.value_pages = value_pages;
  PagedAttentionArgs args;
  args.q = q.data();
  args.q_stride = 1;
  args.o = o.data();
  args.o_stride = 2;
  args.blocks = &block;
  args.block_count = 1;
  args.query_heads = args.kv_heads_per_group = args.key_dim = 1;
  args.value_dim = 2;
  args.scale = 1;
  Validate(args);
  RunPagedAttentionReference(args);
  EXPECT_FLOAT_EQ(o[0], 8);
  EXPECT_FLOAT_EQ(o[1], 1);
  EXPECT_FLOAT_EQ(o[2], 5);
  EXPECT_FLOAT_EQ(o[3], 4);
  args.window = 1;
  RunPagedAttentionReference(args);
  EXPECT_EQ(o, (Floats{8, 1, 4, 5}));
}

TEST(PagedAttentionReference, EqualKeysGiveTheMeanOfTheWindow) {
  // Zero queries weigh all visible keys alike; value of key j is j. Two pages, window 10.
  Floats first(64), second(64), zeros(64);
  for (int j = 0; j < 64; ++j) {
    first[static_cast<size_t>(j)] = static_cast<float>(j);
    second[static_cast<size_t>(j)] = static_cast<float>(64 + j);
  }
  const void* key_pages[] = {zeros.data(), zeros.data()};
  const void* value_pages[] = {first.data(), second.data()};
  const Floats q(64);
  Floats o(64);
  AttentionBlock block;
  block.query_count = 64;
  block.first_key = 60;
  block.key_pages = key_pages;
  block.value_pages = value_pages;
  PagedAttentionArgs args;
  args.q = q.data();
  args.q_stride = args.o_stride = 1;
  args.o = o.data();
  args.blocks = &block;
  args.block_count = 1;
  args.query_heads = args.kv_heads_per_group = args.key_dim = args.value_dim = 1;
  args.window = 10;
  args.scale = 1;
  RunPagedAttentionReference(args);
  for (int i = 0; i < 64; ++i) {
    EXPECT_FLOAT_EQ(o[static_cast<size_t>(i)], 60.0F + static_cast<float>(i) - 4.5F);
  }
  args.window = 0;
  RunPagedAttentionReference(args);
  EXPECT_FLOAT_EQ(o[40], 50.0F);
}

TEST(PagedAttentionCpu, Lengths) {
  ForEachTarget([](const std::string& target) {
    for (const int64_t tokens : {0, 1, 63, 64, 65, 131}) {
      ExpectAgreement(target, {1, 2, 1, 64, 128, 0}, {{0, tokens}}, 64);
      ExpectAgreement(target, {1, 1, 3, 24, 40, 0}, {{tokens, 1}}, 64);
      ExpectAgreement(target, {1, 1, 2, 40, 24, 0}, {{tokens, 70}}, 64);
    }
  });
  ExpectAgreement("", {1, 2, 2, 64, 64, 0}, {{0, 1000}}, 64);
}

TEST(PagedAttentionCpu, Dims) {
  ForEachTarget([](const std::string& target) {
    for (const auto& [key_dim, value_dim] : std::vector<std::pair<int64_t, int64_t>>{
             {1, 1}, {24, 24}, {40, 80}, {80, 40}, {64, 128}, {256, 256}, {512, 512}, {33, 65}}) {
      for (const int64_t shared : {1, 2, 3, 4, 7, 8, 9}) {
        const Shape shape = {1, 1, shared, key_dim, value_dim, 0};
        ExpectAgreement(target, shape, {{130, 1}}, 64);
        ExpectAgreement(target, shape, {{61, 7}}, 64);
      }
    }
  });
}

TEST(PagedAttentionCpu, PackedSequencesAndGroups) {
  ForEachTarget([](const std::string& target) {
    const std::vector<Span> spans = {{0, 63}, {64, 1}, {0, 0}, {5, 131}, {200, 64}, {127, 2}};
    ExpectAgreement(target, {1, 3, 2, 24, 24, 0}, spans, 64);
    ExpectAgreement(target, {3, 1, 2, 32, 40, 0}, spans, 64);
    ExpectAgreement(target, {2, 2, 1, 32, 16, 0}, spans, 17);
  });
}

TEST(PagedAttentionCpu, Windows) {
  ForEachTarget([](const std::string& target) {
    for (const int64_t window : {1, 2, 63, 64, 65, 100, 1000}) {
      ExpectAgreement(target, {1, 1, 2, 24, 40, window}, {{0, 200}, {300, 1}, {150, 66}}, 64);
      ExpectAgreement(target, {1, 1, 9, 24, 40, window}, {{300, 1}, {128, 1}}, 64);
    }
  });
}

TEST(PagedAttentionCpu, LongContextsInParts) {
  // Parts of a decode query are 2,048 keys.
  for (const int64_t past : {2046, 2047, 2048, 5000}) {
    ExpectAgreement("", {1, 1, 2, 32, 32, 0}, {{past, 1}}, 64);
    ExpectAgreement("", {1, 1, 2, 32, 32, 3000}, {{past, 1}}, 64);
  }
}

TEST(PagedAttentionCpu, ScoresOfAnySize) {
  // A scale of 100 spreads scores over thousands: only the running maxima keep this finite.
  ForEachTarget([](const std::string& target) {
    for (const double scale : {0.0, 100.0, -3.0}) {
      Batch batch(2, {1, 1, 2, 64, 64, 0}, {{0, 200}, {333, 1}}, 64);
      batch.args.scale = scale;
      const Floats actual = batch.Run(RunPagedAttentionCpu);
      // Scores of thousands are known in float32 to some 1e-4, and so are the weights.
      ExpectClose(actual, batch.Run(RunPagedAttentionReference),
                  kAttentionTolerance * (1 + 30 * std::abs(scale)), target);
    }
  });
}

TEST(PagedAttentionCpu, NanReachesTheOutput) {
  Batch batch(3, {1, 1, 1, 32, 32, 0}, {{0, 3}}, 64);
  const auto* page = static_cast<const float*>(batch.args.blocks[0].key_pages[0]);
  const_cast<float*>(page)[2 * 32] = kNan;  // key 2 is seen by the last query alone
  const Floats o = batch.Run(RunPagedAttentionCpu);
  EXPECT_TRUE(std::isfinite(o[0]) && std::isfinite(o[32]));
  EXPECT_TRUE(std::isnan(o[64]));
}

TEST(PagedAttentionCpu, SameBytesForAnyTeam) {
  ExpectSameBytesForAnyTeam([] {
    Batch batch(4, {1, 2, 2, 40, 24, 0}, {{0, 300}, {5000, 1}, {64, 70}, {100, 1}}, 64);
    return batch.Run(RunPagedAttentionCpu);
  });
}

TEST(PagedAttentionCpu, ResultsDoNotDependOnTheBatch) {
  const Shape shape = {1, 2, 2, 40, 24, 0};
  Batch alone(5, shape, {{100, 70}}, 64);
  Batch together(5, shape, {{100, 70}}, 64);
  std::vector<AttentionBlock> blocks(together.args.blocks, together.args.blocks + 2);
  std::swap(blocks[0], blocks[1]);
  together.args.blocks = blocks.data();
  EXPECT_EQ(alone.Run(RunPagedAttentionCpu), together.Run(RunPagedAttentionCpu));
}

TEST(AppendKv, WritesEveryHeadToItsSlot) {
  const int64_t groups = 2, heads = 2, key_dim = 3, value_dim = 5, tokens = 20;
  Random random(6);
  Matrix k = Matrix::Normals(random, tokens, groups * heads * key_dim, 2);
  Matrix v = Matrix::Normals(random, tokens, groups * heads * value_dim, 1);
  // A page a (token parity, group).
  std::vector<Floats> key_store(4, Floats(heads * kPageTokens * key_dim, kNan));
  std::vector<Floats> value_store(4, Floats(heads * kPageTokens * value_dim, kNan));
  std::vector<void*> key_pages, value_pages;
  std::vector<int64_t> slots;
  for (int64_t t = 0; t < tokens; ++t) {
    slots.push_back(63 - 3 * t);
    for (int64_t g = 0; g < groups; ++g) {
      key_pages.push_back(key_store[static_cast<size_t>(t % 2 * 2 + g)].data());
      value_pages.push_back(value_store[static_cast<size_t>(t % 2 * 2 + g)].data());
    }
  }
  AppendKvArgs args;
  args.k = k.data();
  args.k_stride = k.stride();
  args.v = v.data();
  args.v_stride = v.stride();
  args.key_pages = key_pages.data();
  args.value_pages = value_pages.data();
  args.slots = slots.data();
  args.tokens = tokens;
  args.groups = groups;
  args.kv_heads_per_group = heads;
  args.key_dim = key_dim;
  args.value_dim = value_dim;
  Validate(args);
  RunAppendKvCpu(args);
  int64_t written = 0;
  for (const Floats& page : key_store) {
    written += std::count_if(page.begin(), page.end(), [](float x) { return !std::isnan(x); });
  }
  EXPECT_EQ(written, tokens * groups * heads * key_dim);
  for (int64_t t = 0; t < tokens; ++t) {
    for (int64_t head = 0; head < groups * heads; ++head) {
      const auto page = static_cast<size_t>(t % 2 * 2 + head / heads);
      const int64_t row = head % heads * kPageTokens + 63 - 3 * t;
      for (int64_t d = 0; d < key_dim; ++d) {
        EXPECT_EQ(key_store[page][static_cast<size_t>(row * key_dim + d)],
                  k.At(t, head * key_dim + d));
      }
      for (int64_t d = 0; d < value_dim; ++d) {
        EXPECT_EQ(value_store[page][static_cast<size_t>(row * value_dim + d)],
                  v.At(t, head * value_dim + d));
      }
    }
  }
}

TEST(PagedAttentionValidate, NamesTheArgument) {
  const auto message = [&](const std::function<void(PagedAttentionArgs&)>& spoil) -> std::string {
    Batch batch(7, {1, 2, 2, 8, 8, 0}, {{0, 3}}, 64);
    try {
      spoil(batch.args);
      batch.Run([](const PagedAttentionArgs&) {});
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(message([](PagedAttentionArgs&) {}), "no error");
  EXPECT_EQ(message([](PagedAttentionArgs& args) { args.query_heads = 3; }),
            "paged attention: query_heads is 3, expected a multiple of groups * "
            "kv_heads_per_group = 2");
  EXPECT_EQ(message([](PagedAttentionArgs& args) { args.q_stride = 31; }),
            "paged attention: q_stride is 31, expected >= query_heads * dim = 32");
  AttentionBlock block;
  block.query_count = 65;
  EXPECT_EQ(message([&](PagedAttentionArgs& args) { args.blocks = &block; }),
            "paged attention: blocks[0].query_count is 65, expected 0 to 64");
}

}  // namespace
}  // namespace natsl::kernels::testing
