#include "latency/work.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "model_adapters/spec/accounting.h"
#include "model_adapters/spec/checkpoint.h"

namespace natsl::latency {
namespace {

using model_adapters::FlopsPerToken;
using model_adapters::ModelSpec;

double Real(int64_t value) { return static_cast<double>(value); }

// Without the output head, of the tokens at contexts first..last, one sequence. The cost of a token
// is nearly piecewise linear in its context: trapezoids over pieces follow it.
double BodyFlops(const ModelSpec& spec, int64_t first, int64_t last, double share) {
  constexpr int64_t kPieces = 128;
  const auto at = [&](int64_t context) {
    const model_adapters::TokenFlops flops = FlopsPerToken(spec, context, share);
    return flops.total() - flops.head;
  };
  const int64_t count = last - first + 1;
  if (count <= 2 * kPieces) {
    double sum = 0;
    for (int64_t context = first; context <= last; ++context) sum += at(context);
    return sum;
  }
  double sum = 0, previous = at(first);
  int64_t from = first;
  for (int64_t piece = 1; piece <= kPieces; ++piece) {
    const int64_t to = first + (count - 1) * piece / kPieces;
    const double now = at(to);
    sum += (previous + now) / 2 * Real(to - from);
    previous = now;
    from = to;
  }
  // Trapezoids over points count both ends half.
  return sum + (at(first) + at(last)) / 2;
}

double HeadFlops(const ModelSpec& spec) { return 2 * Real(spec.vocabulary) * Real(spec.hidden); }

int64_t StateBytes(const ModelSpec& spec, int64_t length, const Storage& storage) {
  return StateBytesAt(spec, length, storage.state_bytes_each, storage.softmax_share).total();
}

// Weights that a forward pass reads: not the embedding table, of which it reads rows.
double BodyWeightBytes(const ModelSpec& spec, const Storage& storage) {
  const model_adapters::ParameterCounts counts = CountParameters(spec);
  return Real((counts.total() - counts.embeddings - counts.head) * storage.weight_bytes_each);
}

double HeadBytes(const ModelSpec& spec, const Storage& storage) {
  return Real(spec.vocabulary) * Real(spec.hidden) * Real(storage.weight_bytes_each);
}

Work PrefillWork(const ModelSpec& spec, const Point& point, const Storage& storage) {
  const int64_t tokens = point.batch * point.prompt;
  const int64_t passes = (tokens + storage.batch_tokens - 1) / storage.batch_tokens;
  return {.flops = Real(point.batch) * BodyFlops(spec, 1, point.prompt, storage.softmax_share),
          .bytes = Real(passes) * BodyWeightBytes(spec, storage) +
                   Real(point.batch) * Real(StateBytes(spec, point.prompt, storage))};
}

// One token of each sequence that holds `depth` before it, with the output head.
Work StepWork(const ModelSpec& spec, int64_t batch, int64_t depth, const Storage& storage) {
  const model_adapters::StateBytes state =
      StateBytesAt(spec, depth + 1, storage.state_bytes_each, storage.softmax_share);
  const double moved = Real(state.kv) + 2 * Real(state.recurrent + state.convolution);
  return {.flops = Real(batch) * FlopsPerToken(spec, depth + 1, storage.softmax_share).total(),
          .bytes = BodyWeightBytes(spec, storage) + HeadBytes(spec, storage) + Real(batch) * moved};
}

/// Elements, as wide as a state's, that one token's activations hold at a time, roughly: the
/// residual stream and its copies, and the widest layer's projections.
int64_t ActivationWidth(const ModelSpec& spec) {
  int64_t mixer = 0, mlp = 0;
  for (const model_adapters::SlotSpec& slot : ExpectedSlots(spec)) {
    if (slot.shape.size() != 2 || !slot.slot.starts_with("layers.0.")) continue;
    (slot.slot.find(".mlp.") != std::string::npos ? mlp : mixer) += slot.shape[0];
  }
  for (const model_adapters::LayerSpec& layer : spec.layers) {
    mlp = std::max(mlp, 3 * layer.mlp.width);
  }
  return 4 * spec.hidden + 2 * std::max(mixer, mlp);
}

}  // namespace

Work WorkOf(const ModelSpec& spec, const Point& point, const Storage& storage) {
  switch (point.phase) {
    case Phase::kTokenize:
      return {};
    case Phase::kPrefill:
      return PrefillWork(spec, point, storage);
    case Phase::kFirstToken: {
      Work work = PrefillWork(spec, point, storage);
      work.flops += Real(point.batch) * HeadFlops(spec);
      work.bytes += HeadBytes(spec, storage);
      return work;
    }
    case Phase::kDecode:
      return StepWork(spec, point.batch, std::max<int64_t>(1, point.depth) + point.new_tokens / 2,
                      storage);
    case Phase::kEndToEnd: {
      Work work = PrefillWork(spec, point, storage);
      work.flops += Real(point.batch) * HeadFlops(spec);
      work.bytes += HeadBytes(spec, storage);
      const Work step = StepWork(spec, point.batch, point.prompt + point.new_tokens / 2, storage);
      work.flops += Real(point.new_tokens - 1) * step.flops;
      work.bytes += Real(point.new_tokens - 1) * step.bytes;
      return work;
    }
    case Phase::kSample:
      return {.flops = Real(point.batch) * HeadFlops(spec), .bytes = HeadBytes(spec, storage)};
  }
  return {};
}

Forecast ForecastOf(const ModelSpec& spec, const Point& point, const Storage& storage) {
  constexpr int64_t kFloat = 4;
  Forecast forecast;
  forecast.weights_bytes = CountParameters(spec).total() * storage.weight_bytes_each;
  if (point.phase == Phase::kTokenize) return forecast;
  // A session and its fork, whose recurrent states and open pages are copies.
  const int64_t sessions = point.phase == Phase::kDecode ? 2 : 1;
  forecast.state_bytes = sessions * point.batch * StateBytes(spec, LengthNeeded(point), storage);
  const int64_t fed = std::max<int64_t>(1, std::max(point.prompt, point.depth));
  const auto activations = [&](int64_t most_tokens) {
    return std::min(most_tokens, point.batch * fed) * ActivationWidth(spec) *
               storage.state_bytes_each +
           2 * point.batch * spec.vocabulary * kFloat;
  };
  forecast.activations_bytes = activations(storage.batch_tokens);
  forecast.least_activations_bytes =
      activations(storage.least_pass_tokens > 0 ? storage.least_pass_tokens : storage.batch_tokens);
  return forecast;
}

int64_t LengthNeeded(const Point& point) {
  switch (point.phase) {
    case Phase::kDecode:
      return std::max<int64_t>(1, point.depth) + point.new_tokens;
    case Phase::kSample:
      return std::max<int64_t>(1, point.depth);
    default:
      return point.prompt + point.new_tokens;
  }
}

std::string FormatBytes(int64_t bytes) {
  constexpr std::array<const char*, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = Real(bytes);
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

}  // namespace natsl::latency
