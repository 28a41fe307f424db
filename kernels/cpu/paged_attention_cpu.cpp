// Paged attention on the processor: which pieces a call is cut into, and their run over all cores.
// The cut depends on the blocks alone, so the number of threads changes no byte of the result.
#include <hwy/aligned_allocator.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/cpu/paged_attention_parts.h"
#include "kernels/paged_attention.h"

namespace natsl::kernels {
namespace {

/// Pages of a part: 2,048 keys, enough work to be worth a thread.
constexpr int64_t kPagesPerPart = 32;

/// The parts of one decode query and kv head, whose results become its outputs.
struct Merge {
  const AttentionBlock* block = nullptr;
  int64_t kv_head = 0;
  size_t first_part = 0;
  size_t part_count = 0;
};

struct Plan {
  std::vector<AttentionTile> tiles;
  std::vector<AttentionPart> parts;
  std::vector<Merge> merges;
};

Plan MakePlan(const PagedAttentionArgs& args) {
  Plan plan;
  const int64_t shared = SharedHeads(args);
  for (int64_t index = 0; index < args.block_count; ++index) {
    const AttentionBlock& block = args.blocks[index];
    for (int64_t kv_head = 0; kv_head < args.kv_heads_per_group; ++kv_head) {
      if (block.query_count == 1 && shared <= kMostPartHeads) {
        Merge merge = {&block, kv_head, plan.parts.size(), 0};
        const int64_t pages = PageCount(block);
        for (int64_t page = FirstVisiblePage(args, block); page < pages; page += kPagesPerPart) {
          plan.parts.push_back({&block, kv_head, page, std::min(page + kPagesPerPart, pages)});
          ++merge.part_count;
        }
        plan.merges.push_back(merge);
        continue;
      }
      const int64_t columns = block.query_count * shared;
      for (int64_t first = 0; first < columns; first += kTileColumns) {
        plan.tiles.push_back({&block, kv_head, first, std::min(kTileColumns, columns - first)});
      }
    }
  }
  // The longest first, so that no thread is left with one at the end.
  std::stable_sort(plan.tiles.begin(), plan.tiles.end(),
                   [](const AttentionTile& a, const AttentionTile& b) {
                     return PageCount(*a.block) > PageCount(*b.block);
                   });
  return plan;
}

/// Sums the parts of one query and kv head, each weighed by its own highest score.
void MergeParts(const PagedAttentionArgs& args, const Merge& merge, const AttentionPart* parts) {
  const int64_t step = PartResultFloats(args);
  const int64_t first_head = FirstQueryHead(args, *merge.block, merge.kv_head);
  for (int64_t head = 0; head < SharedHeads(args); ++head) {
    float highest = parts[0].result[head * step];
    for (size_t i = 1; i < merge.part_count; ++i) {
      highest = std::max(highest, parts[i].result[head * step]);
    }
    float* o = static_cast<float*>(args.o) + merge.block->query_row * args.o_stride +
               (first_head + head) * args.value_dim;
    std::fill_n(o, args.value_dim, 0.0F);
    float total = 0;
    for (size_t i = 0; i < merge.part_count; ++i) {
      const float* result = parts[i].result + head * step;
      const float factor = std::exp2(result[0] - highest);
      total += factor * result[1];
      for (int64_t d = 0; d < args.value_dim; ++d) o[d] += factor * result[2 + d];
    }
    const float inverse = 1.0F / total;
    for (int64_t d = 0; d < args.value_dim; ++d) o[d] *= inverse;
  }
}

}  // namespace

void RunPagedAttentionCpu(const PagedAttentionArgs& args) {
  Plan plan = MakePlan(args);
  const int64_t result_floats = SharedHeads(args) * PartResultFloats(args);
  std::vector<float> results(plan.parts.size() * static_cast<size_t>(result_floats));
  for (size_t i = 0; i < plan.parts.size(); ++i) {
    plan.parts[i].result = results.data() + static_cast<int64_t>(i) * result_floats;
  }
  const auto tiles = static_cast<int64_t>(plan.tiles.size());
  const auto parts = static_cast<int64_t>(plan.parts.size());
  const auto merges = static_cast<int64_t>(plan.merges.size());
  if (tiles + parts == 0) return;
  const int64_t scratch_floats =
      std::max(tiles > 0 ? TileScratchFloats(args) : 0, parts > 0 ? PartScratchFloats(args) : 0);
#pragma omp parallel if (tiles + parts > 1)
  {
    const auto scratch = hwy::AllocateAligned<float>(static_cast<size_t>(scratch_floats));
#pragma omp for schedule(dynamic)
    for (int64_t i = 0; i < tiles + parts; ++i) {
      if (i < tiles) {
        AttendTile(args, plan.tiles[static_cast<size_t>(i)], scratch.get());
      } else {
        AttendPart(args, plan.parts[static_cast<size_t>(i - tiles)], scratch.get());
      }
    }
#pragma omp for schedule(static)
    for (int64_t i = 0; i < merges; ++i) {
      const Merge& merge = plan.merges[static_cast<size_t>(i)];
      MergeParts(args, merge, plan.parts.data() + merge.first_part);
    }
  }
}

void RunAppendKvCpu(const AppendKvArgs& args) {
  const auto* k = static_cast<const float*>(args.k);
  const auto* v = static_cast<const float*>(args.v);
  const int64_t heads = args.groups * args.kv_heads_per_group;
#pragma omp parallel for schedule(static) if (args.tokens > 8)
  for (int64_t t = 0; t < args.tokens; ++t) {
    for (int64_t head = 0; head < heads; ++head) {
      const int64_t page = t * args.groups + head / args.kv_heads_per_group;
      const int64_t row = head % args.kv_heads_per_group * kPageTokens + args.slots[t];
      std::copy_n(k + t * args.k_stride + head * args.key_dim, args.key_dim,
                  static_cast<float*>(args.key_pages[page]) + row * args.key_dim);
      std::copy_n(v + t * args.v_stride + head * args.value_dim, args.value_dim,
                  static_cast<float*>(args.value_pages[page]) + row * args.value_dim);
    }
  }
}

}  // namespace natsl::kernels
