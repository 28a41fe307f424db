// What a model costs by its spec alone: parameters, work a token, state a sequence. Pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "model_adapters/spec/model_spec.h"
#include "model_adapters/token_model.h"

namespace natsl::model_adapters {

/// Numbers of weights. A tied head counts once, as embeddings.
struct ParameterCounts {
  int64_t embeddings = 0;
  int64_t head = 0;
  int64_t softmax_mixers = 0;  ///< of layers with softmax attention only
  int64_t linear_mixers = 0;   ///< of recurrent layers
  int64_t mixed_mixers = 0;    ///< of NAtS-L layers
  int64_t mlps = 0;
  int64_t norms = 0;  ///< block and final norms; a mixer's own norms are in the mixer
  int64_t other = 0;  ///< lower bounds
  int64_t total() const {
    return embeddings + head + softmax_mixers + linear_mixers + mixed_mixers + mlps + norms + other;
  }
};
ParameterCounts CountParameters(const ModelSpec& spec);

/// Floating-point operations (a multiply-add is two) for one token, norms and activations left out.
struct TokenFlops {
  double projections = 0;  ///< dense products of mixers
  double mixing = 0;       ///< scores and values over visible keys, state updates, convolutions
  double mlps = 0;
  double head = 0;
  double total() const { return projections + mixing + mlps + head; }
};
/// Of the token that sees `context` tokens, itself included (context >= 1). `softmax_share`: the
/// part of complete chunks that NAtS-L keeps for softmax attention, 0 to 1.
TokenFlops FlopsPerToken(const ModelSpec& spec, int64_t context, double softmax_share);

/// Bytes one sequence needs after `length` tokens: recurrent states and the last W - 1 inputs of
/// convolutions in float32, keys and values in elements of `activation_bytes`. `softmax_share` as
/// above; NAtS-L also holds its current chunk's keys and values, as one full chunk.
StateBytes StateBytesAt(const ModelSpec& spec, int64_t length, int64_t activation_bytes,
                        double softmax_share);

/// "softmax attention", "gated DeltaNet", ...
std::string_view MixerName(const MixerSpec& mixer);

/// A model in a few numbers.
struct ModelDescription {
  std::string family;
  int64_t layers = 0;
  std::map<std::string, int64_t, std::less<>> layer_kinds;  ///< MixerName -> number of layers
  ParameterCounts parameters;
  double softmax_layer_share = 0;  ///< layers that are softmax attention alone, 0 to 1
  double mixed_layer_share = 0;    ///< NAtS-L layers, 0 to 1
};
ModelDescription Describe(const ModelSpec& spec);

}  // namespace natsl::model_adapters
