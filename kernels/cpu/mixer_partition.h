// How the work of a mixer call is cut into items for the OpenMP team. The cut never changes a
// result: every column of a state is computed alone.
#pragma once

#include <omp.h>
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

#include <algorithm>
#include <cstdint>
#include <vector>

namespace natsl::kernels {

/// Value columns of a unit of work.
constexpr int64_t kUnitColumns = 64;

/// Pieces shorter than this use the recurrence; longer ones the chunked form.
constexpr int64_t kShortPiece = 16;

/// Units [begin, end) of a group of heads of one sequence. Unit u is column block
/// u % blocks of head u / blocks of the group.
struct MixerItem {
  int64_t sequence = 0, group = 0, begin = 0, end = 0;
};

enum class PieceLength { kShort, kLong, kAny };

/// Items for the sequences of the given length, enough of them to occupy the team.
inline std::vector<MixerItem> PartitionMixer(const int64_t* offsets, int64_t sequences,
                                             int64_t groups, int64_t units, PieceLength length) {
  std::vector<int64_t> selected;
  for (int64_t s = 0; s < sequences; ++s) {
    const int64_t rows = offsets[s + 1] - offsets[s];
    if (rows == 0) continue;
    const bool is_short = rows < kShortPiece;
    if (length == PieceLength::kAny || is_short == (length == PieceLength::kShort)) {
      selected.push_back(s);
    }
  }
  const int64_t threads = omp_in_parallel() ? 1 : omp_get_max_threads();
  const int64_t whole = static_cast<int64_t>(selected.size()) * groups;
  int64_t parts = 1;
  while (parts < units && whole * parts % threads != 0 && whole * parts < 4 * threads) ++parts;
  std::vector<MixerItem> items;
  items.reserve(static_cast<size_t>(whole * parts));
  for (const int64_t s : selected) {
    for (int64_t group = 0; group < groups; ++group) {
      for (int64_t part = 0; part < parts; ++part) {
        items.push_back({s, group, units * part / parts, units * (part + 1) / parts});
      }
    }
  }
  return items;
}

/// While it lives, this thread's denormal results and operands are zero: products of strong decays
/// get there, where x86 is some hundred times slower and nothing is left to tell apart.
class FlushDenormals {
 public:
#if defined(__SSE__)
  FlushDenormals() : saved_(_mm_getcsr()) { _mm_setcsr(saved_ | 0x8040); }
  ~FlushDenormals() { _mm_setcsr(saved_); }
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
  unsigned saved_;
#endif
};

/// Calls run(item) for each item on the team.
template <typename Run>
void RunItems(const std::vector<MixerItem>& items, const Run& run) {
  const auto count = static_cast<int64_t>(items.size());
#pragma omp parallel for schedule(dynamic, 1) if (count > 1)
  for (int64_t i = 0; i < count; ++i) {
    [[maybe_unused]] const FlushDenormals flush;
    run(items[static_cast<size_t>(i)]);
  }
}

}  // namespace natsl::kernels
