// The chunked forms of the delta rule and of linear attention on tensor cores (bfloat16).
//
// Three launches: (1) RunPrepare*: everything inside a chunk, all chunks at once; (2) the state's
// walk over the chunks of each segment from zero, with the segment's transfer (a matrix for the
// delta rule, a decay otherwise), then the state before each segment; (3) the walk again from the
// right state, with the outputs. Where the sequences fill the device there is one segment each and
// (2) falls away. A segment whose decay has wiped the past needs no transfer and starts late.
//
// A warp of the walk owns 16 value columns: S^T [16, K] stays in its registers as float32
// accumulators, which are in the right layout to be the next product's operand. With bars for the
// chunk's 64 rows, all products are
//   Vn^T = U^T - S^T W^T;  O^T = scale e^b (S^T Q^T) + Vn^T P^T;  S^T = e^bn S^T + Vn'^T K.
#pragma once

#include "kernels/cuda/delta_rule.h"
#include "kernels/cuda/linear_attention.h"

namespace natsl::kernels::cuda {

/// Floats of a chunk and head in Chunked::factors: scale e^b [64], e^(bn - b) [64], e^bn, bn. With
/// normalize_qk the first two hold 1 / |q| and 1 / |k| too.
constexpr int kFactors = 132;
constexpr int64_t kChunk = kPageTokens;
/// A state multiplied by exp of this or less is gone to float32 precision.
constexpr float kWiped = -25.0f;

struct Chunked {
  bool delta = false, vector_decay = false;
  bool normalize_qk = false;  ///< delta rule: the rows' L2 norms join the scalar factors
  const void *q = nullptr, *k = nullptr, *v = nullptr;
  int64_t q_stride = 0, k_stride = 0, v_stride = 0, o_stride = 0;
  int64_t q_share = 1, k_share = 1, v_share = 1;
  const float *g = nullptr, *beta = nullptr, *bonus = nullptr;
  DecayKind decay = DecayKind::kScalarPerToken;
  void* o = nullptr;
  float* state = nullptr;
  StateSlots slots;
  ChunkPlan plan;
  bool nats = false;
  NatsDelta nats_state;
  int64_t heads = 0, key_dim = 0, value_dim = 0;
  float scale = 1;

  // Workspace, by (chunk, head).
  void* q_tiles = nullptr;   ///< vector decay: q e^b scale [64, K]
  void* k_tiles = nullptr;   ///< vector decay: k e^(bn - b) [64, K]
  void* w = nullptr;         ///< delta rule [64, K]
  void* u = nullptr;         ///< delta rule [64, V]
  void* p = nullptr;         ///< scores inside the chunk [64, 64]
  float* factors = nullptr;  ///< scalar decay [kFactors]
  float* decays = nullptr;   ///< vector decay: e^bn [K]
  // By (segment, head).
  int64_t chunks_per_segment = 0, segments = 0;
  bool split = false;         ///< more than one segment may exist for a sequence
  float* local = nullptr;     ///< end of the segment [K, V]: from zero (the first: from the state)
  float* transfer = nullptr;  ///< delta rule [K, K]
  float* segment_log = nullptr;    ///< scalar decay: total log decay
  float* segment_decay = nullptr;  ///< vector decay [K]
  float* start = nullptr;          ///< state before the segment [K, V]
  float* chunk_start = nullptr;    ///< NAtS-L: [sequences, heads, K, V], the slots' before the pass
};

bool Supported(const Chunked& args);
/// Chooses segments and lays the workspace out (base null: only counts). Returns its bytes.
int64_t LayOutChunked(Chunked& args, void* base);
void RunChunked(const Chunked& args, cudaStream_t stream);

// The launches, one file each.
void RunPrepareScalar(const Chunked& args, cudaStream_t stream);
void RunPrepareVector(const Chunked& args, cudaStream_t stream);
void RunWalkDelta(const Chunked& args, bool outputs, cudaStream_t stream);
void RunWalkScalar(const Chunked& args, bool outputs, cudaStream_t stream);
void RunWalkVector(const Chunked& args, bool outputs, cudaStream_t stream);
void RunJoinSegments(const Chunked& args, cudaStream_t stream);

}  // namespace natsl::kernels::cuda
