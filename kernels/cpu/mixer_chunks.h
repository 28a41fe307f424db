// What the chunked forms of the recurrent mixers share, whatever computes the products: the walk of
// one item over segments and panels, and the rows to ask the memory for ahead of their use.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "kernels/common.h"
#include "kernels/cpu/mixer_partition.h"

namespace natsl::kernels {

constexpr int64_t RoundUp(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// Columns of one head's state and values, handled together.
struct Panel {
  int64_t head, column, columns;
};

/// The panels of an item: unit u is column block u % blocks of head u / blocks.
inline std::vector<Panel> ListPanels(const MixerItem& item, int64_t value_dim,
                                     int64_t panel_columns) {
  const int64_t blocks = (value_dim + kUnitColumns - 1) / kUnitColumns;
  std::vector<Panel> panels;
  for (int64_t unit = item.begin; unit < item.end; ++unit) {
    const int64_t begin = unit % blocks * kUnitColumns;
    const int64_t end = std::min(begin + kUnitColumns, value_dim);
    for (int64_t column = begin; column < end; column += panel_columns) {
      panels.push_back({unit / blocks, column, std::min(panel_columns, end - column)});
    }
  }
  return panels;
}

/// Consecutive rows of one sequence inside one chunk.
struct Segment {
  int64_t first = 0, rows = 0;
  bool starts_chunk = false, completes_chunk = false;  ///< false where chunks have no meaning
  int64_t completed = 0;                               ///< chunks completed before in this call
  bool last = false;                                   ///< of the call
};

/// `width` floats every `stride`; `rows` is that of row 0 of the packed batch.
struct RowStream {
  const float* rows = nullptr;
  int64_t stride = 0, width = 0;
};

/// Rows of the next segment, asked for a few at a time between the products. A row's columns of all
/// of the item's heads lie side by side: runs that the processor follows by itself once they have
/// begun; to the next row, a page away, it doesn't.
class Upcoming {
 public:
  void SetStreams(std::vector<RowStream> streams) { streams_ = std::move(streams); }
  /// Rows [begin, end), during one of `panels` panels: the panel's share of them.
  void SetRows(int64_t begin, int64_t end, int64_t panel, int64_t panels) {
    const int64_t runs = (end - begin) * static_cast<int64_t>(streams_.size());
    first_row_ = begin;
    next_ = runs * panel / panels;
    end_ = runs * (panel + 1) / panels;
    share_ = end_ - next_;
  }
  /// Asks for one of `parts` equal parts of the panel's share.
  void Touch(int64_t parts) {
    for (int64_t left = (share_ + parts - 1) / parts; left > 0 && next_ < end_; --left, ++next_) {
      const auto count = static_cast<int64_t>(streams_.size());
      const RowStream& stream = streams_[static_cast<size_t>(next_ % count)];
      const float* const row = stream.rows + (first_row_ + next_ / count) * stream.stride;
      for (int64_t i = 0; i < stream.width; i += 16) __builtin_prefetch(row + i, 0, 2);
    }
  }

 private:
  std::vector<RowStream> streams_;
  int64_t first_row_ = 0, next_ = 0, end_ = 0, share_ = 0;
};

/// One sequence's part of a call, and its state [heads, key_dim, value_dim].
struct ChunkedSequence {
  int64_t begin, end;  ///< rows
  int64_t share;       ///< heads of a group, which share keys
  int64_t key_dim, value_dim;
  float* state;
  bool has_chunks = false;     ///< segments end where absolute positions reach a multiple of 64
  int64_t first_position = 0;  ///< of row `begin`; 0 without chunks
};

/// Items for the sequences of kShortPiece rows or more. An item takes its heads through a segment
/// before the next segment, so that a token's rows, which lie side by side, are read together.
inline std::vector<MixerItem> PartitionChunked(const int64_t* offsets, int64_t sequences,
                                               int64_t heads, int64_t value_dim) {
  const int64_t blocks = (value_dim + kUnitColumns - 1) / kUnitColumns;
  return PartitionMixer(offsets, sequences, 1, heads * blocks, PieceLength::kLong);
}

/// Runs one item of PartitionChunked. `work` has the chunk's mathematics:
///   kPanelColumns; StateOf(p): memory of panel p's state; LoadState / StoreState(stored, columns,
///   state): between there and the stored state's columns; PrepareKeys(segment, group): before a
///   group's heads; PrepareHead(segment, head): before a head's panels; RunPanel(segment, panel,
///   upcoming, state); Rows(first panel, last panel, first group, last group): what an item reads
///   and writes of each row.
template <typename Work>
class ChunkedRun {
 public:
  ChunkedRun(const MixerItem& item, const ChunkedSequence& sequence, Work& work)
      : sequence_(sequence),
        work_(work),
        panels_(ListPanels(item, sequence.value_dim, Work::kPanelColumns)) {}

  void Run() {
    for (size_t p = 0; p < panels_.size(); ++p) {
      work_.LoadState(Stored(p), panels_[p].columns, work_.StateOf(p));
    }
    upcoming_.SetStreams(
        work_.Rows(panels_.front(), panels_.back(), Group(0), Group(panels_.size() - 1)));
    Segment segment = SegmentAt(sequence_.begin);
    while (segment.rows > 0) {
      const Segment next = SegmentAt(segment.first + segment.rows);
      for (size_t p = 0; p < panels_.size(); ++p) {
        if (p == 0 || Group(p) != Group(p - 1)) work_.PrepareKeys(segment, Group(p));
        if (p == 0 || panels_[p].head != panels_[p - 1].head) {
          work_.PrepareHead(segment, panels_[p].head);
        }
        upcoming_.SetRows(next.first, next.first + next.rows, static_cast<int64_t>(p),
                          static_cast<int64_t>(panels_.size()));
        work_.RunPanel(segment, panels_[p], upcoming_, work_.StateOf(p));
      }
      segment = next;
    }
    for (size_t p = 0; p < panels_.size(); ++p) {
      work_.StoreState(Stored(p), panels_[p].columns, work_.StateOf(p));
    }
  }

 private:
  int64_t Group(size_t panel) const { return panels_[panel].head / sequence_.share; }

  float* Stored(size_t panel) const {
    return sequence_.state + panels_[panel].head * sequence_.key_dim * sequence_.value_dim +
           panels_[panel].column;
  }

  Segment SegmentAt(int64_t first) const {
    Segment segment;
    const int64_t position = sequence_.first_position + first - sequence_.begin;
    const int64_t in_chunk = position % kPageTokens;
    segment.first = first;
    segment.rows = std::min(kPageTokens - in_chunk, sequence_.end - first);
    segment.last = first + segment.rows == sequence_.end;
    if (sequence_.has_chunks) {
      segment.starts_chunk = in_chunk == 0;
      segment.completes_chunk = in_chunk + segment.rows == kPageTokens;
      segment.completed = position / kPageTokens - sequence_.first_position / kPageTokens;
    }
    return segment;
  }

  const ChunkedSequence& sequence_;
  Work& work_;
  std::vector<Panel> panels_;
  Upcoming upcoming_;
};

}  // namespace natsl::kernels
