// A checkpoint's architecture as plain data: what config.json says, in one form for all families.
// The native model builds its layers from this; nothing here knows of Torch or of weights' bytes.
//
// Weight slots. A family's table maps a checkpoint's tensor names to these canonical slots
// (i = layer; names in [] exist only where the spec says so; linear weights are [out, in]):
//   embeddings.weight   head.weight (absent: tied)   final_norm.{weight,[bias]}
//   [lower_bounds]  [num layers, D]
//   layers.i.[pre_norm].{weight,[bias]}                 RWKV6's layer 0
//   layers.i.mixer_norm.{weight,[bias]}   layers.i.mlp_norm.{weight,[bias]}
//   layers.i.[mixer_post_norm].weight   layers.i.[mlp_post_norm].weight      gemma3
//   layers.i.mlp.{gate_proj,up_proj,down_proj}.{weight,[bias]}   (no gate_proj: plain two-layer
//   MLP) layers.i.mixer.NAME      NAME as in flash-linear-attention for its families
//   (specs/models), and
//     for attention: {q,k,v,o}_proj.{weight,[bias]}, [q_norm.weight], [k_norm.weight]
//   layers.i.mlp.{key.mu, key.linear.weight, receptance.mu, ...}   RWKV6's channel mix
// GLA's and RetNet's output norm is g_norm.weight whatever name the checkpoint gives it.
// A fused tensor of a checkpoint is split into its slots by the table (row ranges).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace natsl::model_adapters {

enum class Activation {
  kIdentity,
  kSilu,
  kRelu,
  kSquaredRelu,
  kSigmoid,
  kLogSigmoid,
  kGeluTanh,
  kGeluErf,
  kEluPlusOne
};

enum class NormKind {
  kRms,         ///< x / sqrt(mean(x^2) + eps) * w
  kRmsOnePlus,  ///< ... * (1 + w)
  kLayer,       ///< (x - mean) / sqrt(var + eps) * w + b
};
struct NormSpec {
  NormKind kind = NormKind::kRms;
  double eps = 1e-6;
  bool bias = false;
  bool affine = true;  ///< false: no weight tensor, weights are ones

  bool operator==(const NormSpec&) const = default;
};

/// Rotary embedding, half-split pairs (i, i + dims/2) over the first `dims` channels of a head.
struct RopeSpec {
  enum class Scaling { kNone, kLinear, kLlama3, kYarn };
  double base = 10000;
  int64_t dims = 0;
  Scaling scaling = Scaling::kNone;
  double factor = 1;                     ///< linear, llama3, yarn
  double low_freq_factor = 1;            ///< llama3
  double high_freq_factor = 4;           ///< llama3
  double original_max_positions = 8192;  ///< llama3, yarn
  double beta_fast = 32, beta_slow = 1;  ///< yarn
  double attention_factor = 1;           ///< yarn: cos and sin times this
  bool truncate = true;                  ///< yarn

  bool operator==(const RopeSpec&) const = default;
};

struct ConvSpec {
  int64_t width = 4;
  bool bias = false;
  Activation activation = Activation::kSilu;

  bool operator==(const ConvSpec&) const = default;
};

/// Softmax attention (GQA, windows, RoPE, q/k norms).
struct AttentionSpec {
  int64_t heads = 0, kv_heads = 0, head_dim = 0;
  double scale = 0;               ///< head_dim^-0.5 unless the family says otherwise
  std::optional<int64_t> window;  ///< visible keys, the token itself included
  std::optional<RopeSpec> rope;
  std::optional<NormSpec> qk_norm;  ///< per head, before RoPE
  bool qkv_bias = false, o_bias = false;

  bool operator==(const AttentionSpec&) const = default;
};

/// DeltaNet and Gated DeltaNet (delta_net.md, gated_deltanet.md).
struct DeltaNetSpec {
  int64_t heads = 0;                   ///< q/k heads
  int64_t value_heads = 0;             ///< multiple of heads
  int64_t key_dim = 0, value_dim = 0;  ///< per head: K, V
  bool decay = false;                  ///< Gated DeltaNet: a_proj, A_log, dt_bias
  bool use_beta = true;
  bool negative_eigenvalues = false;  ///< beta doubled
  bool output_gate = false;
  std::optional<ConvSpec> conv;  ///< of v; q and k share its width
  Activation qk_activation = Activation::kSilu;
  enum class QkNorm { kL2, kSum } qk_norm = QkNorm::kL2;
  NormSpec output_norm;

  bool operator==(const DeltaNetSpec&) const = default;
};

/// NAtS-L (nats_l.md): Gated DeltaNet and softmax attention, chosen per 64-token chunk and head.
struct NatsSpec {
  DeltaNetSpec delta;           ///< heads, dims, conv, gate of the shared projections
  int64_t attention_heads = 0;  ///< Ha; Ka = heads*K/Ha, Va = value_heads*V/Ha
  int64_t nats_heads = 0;       ///< Hn
  int64_t chunk = 64;
  enum class OwnChunk { kAll, kAttention, kDelta } own_chunk = OwnChunk::kAll;
  bool decay_over_softmax_chunks = false;  ///< decay_for_non_gdn_blocks
  std::optional<NormSpec> attention_qk_norm;
  bool attention_after_conv = false;  ///< attn_with_short_conv
  std::optional<RopeSpec> attention_rope;

  bool operator==(const NatsSpec&) const = default;
};

/// GLA, RetNet, HGRN2 (vector or scalar decay, additive update).
struct LinearAttentionSpec {
  enum class Family { kGla, kRetNet, kHgrn2 } family = Family::kGla;
  int64_t heads = 0, kv_heads = 0, key_dim = 0, value_dim = 0;
  Activation feature_map = Activation::kIdentity;
  std::optional<ConvSpec> conv;
  bool output_gate = true;
  Activation gate_activation = Activation::kSilu;
  NormSpec output_norm;             ///< per head; HGRN2: over all channels
  std::optional<double> clamp_min;  ///< GLA's lower clamp of the log decay
  int64_t decay_rank = 16;          ///< GLA: width between gk_proj.0 and gk_proj.1
  double decay_normalizer = 16;     ///< GLA: logsigmoid(.) / this
  std::optional<RopeSpec> rope;     ///< RetNet
  bool lower_bound = false;         ///< HGRN2

  bool operator==(const LinearAttentionSpec&) const = default;
};

/// HGRN (elementwise gated recurrence).
struct HgrnSpec {
  int64_t width = 0;
  std::optional<ConvSpec> conv;
  bool lower_bound = true;
  NormSpec output_norm;

  bool operator==(const HgrnSpec&) const = default;
};

/// Mamba2 (SSD), fla and transformers flavours.
struct Mamba2Spec {
  int64_t heads = 0, head_dim = 0, state = 0, groups = 1, conv_width = 4;
  bool conv_bias = true, projection_bias = false;
  bool gated_norm = true, norm_before_gate = false, d_has_head_dim = false;
  double norm_eps = 1e-5;
  std::array<double, 2> dt_limit = {0, 0};  ///< {low, high}; high may be infinity
  bool clamp_dt_in_decode = false;

  bool operator==(const Mamba2Spec&) const = default;
};

/// RWKV6 time mix (rwkv6.md).
struct Rwkv6Spec {
  int64_t heads = 0, key_dim = 0, value_dim = 0, shift_rank = 32, decay_rank = 64;
  double norm_eps = 1e-5;

  bool operator==(const Rwkv6Spec&) const = default;
};

using MixerSpec = std::variant<AttentionSpec, DeltaNetSpec, NatsSpec, LinearAttentionSpec, HgrnSpec,
                               Mamba2Spec, Rwkv6Spec>;

struct MlpSpec {
  enum class Kind { kNone, kGated, kPlain, kRwkv6ChannelMix } kind = Kind::kGated;
  int64_t width = 0;
  Activation activation = Activation::kSilu;
  bool bias = false;

  bool operator==(const MlpSpec&) const = default;
};

struct LayerSpec {
  std::optional<NormSpec> pre_norm;  ///< RWKV6 layer 0: replaces the residual stream
  NormSpec mixer_norm;
  MixerSpec mixer;
  std::optional<NormSpec> mixer_post_norm;
  NormSpec mlp_norm;  ///< unused without an MLP
  MlpSpec mlp;
  std::optional<NormSpec> mlp_post_norm;
  bool parallel_residual = false;  ///< gpt_neox: x + mixer(n1(x)) + mlp(n2(x))

  bool operator==(const LayerSpec&) const = default;
};

struct ModelSpec {
  std::string family;  ///< model_type of the config
  int64_t vocabulary = 0, hidden = 0;
  double embedding_scale = 1;
  std::vector<LayerSpec> layers;
  NormSpec final_norm;
  bool tied_head = false;
  double logit_soft_cap = 0;  ///< 0: none
  bool lower_bounds = false;  ///< HGRN, HGRN2: the slot `lower_bounds` exists
  /// max_position_embeddings, n_positions or n_ctx, in the reference's order; nothing: none given.
  std::optional<int64_t> max_positions;
  std::optional<int64_t> bos_token, eos_token;
  /// Keys of the config that nothing here reads or knows to be without effect on a result; the
  /// reference ignores unknown keys, a misspelled one included. For warnings.
  std::vector<std::string> ignored_keys;

  bool operator==(const ModelSpec&) const = default;
};

}  // namespace natsl::model_adapters
