// Opening a checkpoint on a device and answering TokenModel's calls.
#include "model_adapters/native/cuda/cuda_model.h"

#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>

#include <algorithm>
#include <filesystem>
#include <mutex>

#include "core/cast.h"
#include "core/error.h"
#include "model_adapters/native/cuda/call_guard.h"
#include "model_adapters/native/cuda/device.h"
#include "model_adapters/native/cuda/rates.h"
#include "model_adapters/native/cuda/session.h"
#include "model_adapters/native/generator.h"
#include "model_adapters/native/model_info.h"
#include "model_adapters/native/scorer.h"

namespace natsl::model_adapters::native::cuda {
namespace {

// Share of the free memory for states of sequences that wait for children, or are generated.
constexpr int64_t kHeldShare = 4;
constexpr int64_t kMostSequences = 1024;
// Beside weights: LibTorch's context, cuBLAS, cuDNN.
constexpr int64_t kLibraryBytes = int64_t{1} << 30;
// Tokens of the first pass, which warms up.
constexpr int64_t kWarmUpTokens = 4096;
// Rows of logits or hidden states that a trace copies at once.
constexpr int64_t kTraceRows = 4096;

class CudaModel final : public NativeModel {
 public:
  CudaModel(const std::string& path, const OpenOptions& options) : options_(options) {
    const core::DType dtype = DTypeOf(options.dtype);
    if (options.batch_tokens < 1) {
      throw UsageError("batch tokens are {}, expected at least 1", options.batch_tokens);
    }
    const Machine machine = ReadMachine(options.device);
    CheckMachine(machine, options.device);
    std::filesystem::path config = path;
    if (std::filesystem::is_directory(config)) config /= "config.json";
    std::unique_ptr<WeightSource> weights;
    ModelSpec spec;
    if (options.random_weights_seed) {
      spec = LoadModelSpec(config);
      weights = MakeRandomWeights(spec, *options.random_weights_seed);
    } else {
      checkpoint_ = std::make_shared<const Checkpoint>(path);
      spec = checkpoint_->spec();
      weights = MakeCheckpointWeights(checkpoint_);
    }
    CheckMemory(machine, WeightBytes(spec, dtype) + kLibraryBytes, options.device);
    const int device = DeviceIndex(options.device);
    const c10::InferenceMode inference(true);
    const c10::cuda::CUDAGuard guard(static_cast<c10::DeviceIndex>(device));
    engine_ = std::make_shared<Engine>(spec, *weights, dtype, device);
    kernels::cuda::Check(cudaDeviceSynchronize(), "loading the weights");
    engine_->choices().forced_share = options.forced_softmax_share;
    info_ = DescribeModel(spec, path, config, options);
    info_.parameters = engine_->network().parameters();
    WarmUp();
    free_bytes_ = machine.free_bytes - WeightBytes(spec, dtype) - kLibraryBytes;
  }

  const ModelInfo& Info() const override {
    // Hashing reads every byte of the weights: only when somebody asks.
    std::call_once(fingerprint_once_, [&] {
      if (checkpoint_) info_.weights_fingerprint = checkpoint_->Fingerprint();
    });
    return info_;
  }

  void Score(std::span<const TokenScoreRequest> requests, std::span<TokenScore> results,
             BatchListener& listener) override {
    InEngine(*engine_, [&] { ScoreAll(*engine_, requests, ScoreLimits(), results, listener); });
    RecordHalvings();
  }

  void Generate(std::span<const TokenGenerateRequest> requests, std::span<TokenGeneration> results,
                BatchListener& listener) override {
    InEngine(*engine_,
             [&] { GenerateAll(*engine_, requests, LimitsOfGeneration(), results, listener); });
    RecordHalvings();
  }

  std::vector<int> Split(std::span<const TokenScoreRequest> requests, int parts) const override {
    return SplitScorePlan(MakeScorePlan(requests, ScoreLimits()), parts);
  }

  std::vector<int> Split(std::span<const TokenGenerateRequest> requests, int parts) const override {
    return SplitGenerateGroups(requests, GenerateGroups(requests, LimitsOfGeneration()), parts);
  }

  std::unique_ptr<Session> NewSession(int64_t batch) override {
    return MakeSession(engine_, batch, options_.batch_tokens);
  }

  Trace Forward(std::span<const TokenId> ids, bool hidden_states,
                std::span<const int64_t> pieces) override {
    Trace trace;
    InEngine(*engine_, [&] { trace = TraceOf(ids, hidden_states, pieces); });
    return trace;
  }

  std::vector<SoftmaxShare> SoftmaxShares() const override {
    const CallGuard guard(*engine_);
    std::vector<SoftmaxShare> shares;
    const ModelSpec& spec = engine_->network().spec();
    const ChoicePolicy& policy = engine_->choices();
    std::vector<unsigned long long> counts(spec.layers.size() *
                                           static_cast<size_t>(policy.most_heads) * 2);
    if (counts.empty()) return shares;
    kernels::cuda::Check(
        cudaMemcpyAsync(counts.data(), policy.counts, counts.size() * sizeof(counts[0]),
                        cudaMemcpyDeviceToHost, CurrentStream()),
        "softmax shares");
    kernels::cuda::Check(cudaStreamSynchronize(CurrentStream()), "softmax shares");
    for (size_t layer = 0; layer < spec.layers.size(); ++layer) {
      const auto* nats = std::get_if<NatsSpec>(&spec.layers[layer].mixer);
      if (nats == nullptr) continue;
      for (int64_t head = 0; head < nats->nats_heads; ++head) {
        const size_t at =
            (layer * static_cast<size_t>(policy.most_heads) + static_cast<size_t>(head)) * 2;
        if (counts[at + 1] == 0) continue;
        shares.push_back({static_cast<int64_t>(layer), head, static_cast<int64_t>(counts[at]),
                          static_cast<int64_t>(counts[at + 1])});
      }
    }
    return shares;
  }

  void SetChunkChoices(ChunkChoices* choices) override { engine_->choices().next = choices; }
  int64_t step_weight_bytes() const override { return engine_->network().step_weight_bytes(); }

  void LimitMemory(int64_t bytes) override {
    const CallGuard guard(*engine_);
    engine_->LimitMemory(bytes);
  }

  std::optional<DeviceMemory> Memory() override { return MemoryOf(*engine_); }
  void ResetPeakMemory() override {
    c10::cuda::CUDACachingAllocator::resetPeakStats(
        static_cast<c10::DeviceIndex>(engine_->device()));
  }
  std::optional<DeviceRates> MeasureRates() override {
    return InEngine(*engine_, [&]() -> std::optional<DeviceRates> {
      try {
        return RatesOf(*engine_);
      } catch (const c10::OutOfMemoryError&) {
        return std::nullopt;
      }
    });
  }

 private:
  PlanLimits ScoreLimits() const {
    PlanLimits limits;
    limits.batch_tokens = options_.batch_tokens;
    limits.max_sequences = kMostSequences;
    limits.max_held = Held(kMostSequences);
    limits.share_prefixes = options_.share_prefixes;
    limits.deterministic = options_.deterministic;
    return limits;
  }

  GenerateLimits LimitsOfGeneration() const {
    GenerateLimits limits;
    limits.batch_tokens = options_.batch_tokens;
    limits.max_sequences = options_.deterministic ? 1 : Held(limits.max_sequences);
    const int64_t token_bytes = std::max<int64_t>(engine_->pool().token_bytes(), 1);
    limits.held_tokens = std::max(limits.held_tokens, free_bytes_ / kHeldShare / token_bytes);
    limits.share_prefixes = options_.share_prefixes && !options_.deterministic;
    return limits;
  }

  static int64_t WeightBytes(const ModelSpec& spec, core::DType dtype) {
    int64_t bytes = 0;
    for (const SlotSpec& slot : ExpectedSlots(spec)) {
      int64_t count = 1;
      for (const int64_t size : slot.shape) count *= size;
      bytes += count * core::ByteSize(dtype);
    }
    return bytes;
  }

  // A pass of the size that scoring makes: kernels are loaded and memory is taken while the model
  // opens, not in the first batch.
  void WarmUp() {
    InEngine(*engine_, [&] {
      const std::vector<TokenId> ids(
          static_cast<size_t>(std::min(options_.batch_tokens, kWarmUpTokens)), 0);
      const auto state = engine_->NewState();
      const RunnerPiece piece = {state.get(), ids, false};
      engine_->Forward(std::span(&piece, 1));
      HeadQuery query;
      query.targets = {0};
      engine_->Query({query})();
      engine_->ResetCounts();
    });
  }

  // Sequences whose states the memory holds.
  int64_t Held(int64_t most) const {
    const int64_t bytes = engine_->pool().slot_bytes();
    if (bytes == 0) return most;
    return std::clamp<int64_t>(free_bytes_ / kHeldShare / bytes, 1, most);
  }

  void RecordHalvings() {
    if (engine_->halvings() == recorded_halvings_) return;
    if (recorded_halvings_ > 0) info_.settings.resize(info_.settings.size() - 2);
    recorded_halvings_ = engine_->halvings();
    info_.settings.emplace_back("halved_passes", fmt::format("{}", recorded_halvings_));
    info_.settings.emplace_back("halved_pass_tokens", fmt::format("{}", engine_->halved_tokens()));
  }

  Trace TraceOf(std::span<const TokenId> ids, bool hidden_states,
                std::span<const int64_t> pieces) const {
    const Network& network = engine_->network();
    Trace trace;
    trace.tokens = core::Size(ids);
    trace.layers = core::Size(network.spec().layers);
    trace.hidden = network.spec().hidden;
    const std::vector<int64_t> whole = {trace.tokens};
    if (pieces.empty()) pieces = whole;
    const auto state = engine_->NewDeviceState();
    std::vector<std::vector<at::Tensor>> hidden(static_cast<size_t>(trace.layers + 1));
    size_t begin = 0;
    for (const int64_t piece : pieces) {
      if (piece < 1 || static_cast<int64_t>(begin) + piece > trace.tokens) {
        throw InternalError("forward: pieces don't add up to {} tokens", trace.tokens);
      }
      const RunnerPiece part = {state.get(), ids.subspan(begin, static_cast<size_t>(piece)), true};
      begin += static_cast<size_t>(piece);
      std::vector<at::Tensor> outputs;
      const Residual residual =
          engine_->Run(std::span(&part, 1), hidden_states ? &outputs : nullptr);
      const at::Tensor normed = network.FinalNorm(residual);
      for (int64_t row = 0; row < piece; row += kTraceRows) {
        AppendTo(trace.logits,
                 network.Logits(normed.narrow(0, row, std::min(kTraceRows, piece - row))));
      }
      if (!hidden_states) continue;
      outputs.back() = normed;
      for (size_t i = 0; i < outputs.size(); ++i) hidden[i].push_back(outputs[i]);
    }
    if (static_cast<int64_t>(begin) != trace.tokens) {
      throw InternalError("forward: pieces add up to {} of {} tokens", begin, trace.tokens);
    }
    if (hidden_states) {
      for (const auto& parts : hidden) {
        for (const at::Tensor& part : parts) AppendTo(trace.hidden_states, part);
      }
    }
    return trace;
  }

  static void AppendTo(std::vector<float>& target, const at::Tensor& values) {
    const at::Tensor host = values.to(at::kFloat).cpu().contiguous();
    const float* data = host.data_ptr<float>();
    target.insert(target.end(), data, data + host.numel());
  }

  OpenOptions options_;
  std::shared_ptr<const Checkpoint> checkpoint_;
  std::shared_ptr<Engine> engine_;
  int64_t free_bytes_ = 0, recorded_halvings_ = 0;
  mutable std::once_flag fingerprint_once_;
  mutable ModelInfo info_;
};

}  // namespace

std::unique_ptr<NativeModel> OpenModel(const std::string& path, const OpenOptions& options) {
  return InContext(fmt::format("model {}", path), [&]() -> std::unique_ptr<NativeModel> {
    try {
      return std::make_unique<CudaModel>(path, options);
    } catch (const c10::OutOfMemoryError&) {
      throw ModelError(
          "the memory of \"{}\" doesn't hold the weights: another process may hold it (nvidia-smi "
          "names it)",
          options.device);
    } catch (const c10::Error& error) {
      throw InternalError("LibTorch: {}", error.what_without_backtrace());
    }
  });
}

}  // namespace natsl::model_adapters::native::cuda
