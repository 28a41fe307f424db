// Opening a checkpoint and answering TokenModel's calls.
#include "model_adapters/native/native_model.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <mutex>

#include "core/cast.h"
#include "core/error.h"
#include "model_adapters/native/generator.h"
#include "model_adapters/native/model_info.h"
#include "model_adapters/native/network.h"
#include "model_adapters/native/network_runner.h"
#include "model_adapters/native/scorer.h"
#include "model_adapters/native/session.h"
#include "model_adapters/native/tensor_memory.h"

namespace natsl::model_adapters::native {
namespace {

// Counts NAtS-L's choices, forces a share of them where asked to, and passes them on.
class ChoiceRecorder final : public ChunkChoices {
 public:
  void OnChunk(int64_t layer, int64_t sequence, int64_t chunk,
               std::vector<uint8_t>& softmax) override {
    if (forced_share) {
      for (size_t head = 0; head < softmax.size(); ++head) {
        softmax[head] =
            ForcedChoice(layer, chunk, static_cast<int64_t>(head), *forced_share) ? 1 : 0;
      }
    }
    if (next != nullptr) next->OnChunk(layer, sequence, chunk, softmax);
    auto& counts = counts_[layer];
    counts.resize(softmax.size());
    for (size_t head = 0; head < softmax.size(); ++head) {
      counts[head].first += softmax[head];
      ++counts[head].second;
    }
  }

  std::vector<SoftmaxShare> Shares() const {
    std::vector<SoftmaxShare> shares;
    for (const auto& [layer, heads] : counts_) {
      for (size_t head = 0; head < heads.size(); ++head) {
        shares.push_back(
            {layer, static_cast<int64_t>(head), heads[head].first, heads[head].second});
      }
    }
    return shares;
  }

  std::optional<double> forced_share;
  ChunkChoices* next = nullptr;

 private:
  std::map<int64_t, std::vector<std::pair<int64_t, int64_t>>> counts_;
};

class Model final : public NativeModel {
 public:
  Model(const std::string& path, const OpenOptions& options) : options_(options) {
    const CallGuard guard(options.threads);
    const core::DType dtype = DTypeOf(options.dtype);
    if (options.device != "cpu") {
      throw UsageError("device is \"{}\", but this build of the native model runs on cpu alone",
                       options.device);
    }
    if (options.batch_tokens < 1) {
      throw UsageError("batch tokens are {}, expected at least 1", options.batch_tokens);
    }
    std::filesystem::path config = path;
    if (std::filesystem::is_directory(config)) config /= "config.json";
    if (options.random_weights_seed) {
      const ModelSpec spec = LoadModelSpec(config);
      weights_ = MakeRandomWeights(spec, *options.random_weights_seed);
      network_ = std::make_shared<Network>(spec, *weights_, dtype);
    } else {
      checkpoint_ = std::make_shared<const Checkpoint>(path);
      weights_ = MakeCheckpointWeights(checkpoint_);
      network_ = std::make_shared<Network>(checkpoint_->spec(), *weights_, dtype);
    }
    recorder_.forced_share = options.forced_softmax_share;
    info_ = DescribeModel(network_->spec(), path, config, options);
    info_.parameters = network_->parameters();
    limits_ = LimitsFor(network_->spec(), options);
    generate_limits_ = GenerateLimitsFor(network_->spec(), options);
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
    const CallGuard guard(options_.threads);
    ScoreAll(*MakeNetworkRunner(*network_, &recorder_, /*arena=*/true), requests, limits_, results,
             listener);
  }

  void Generate(std::span<const TokenGenerateRequest> requests, std::span<TokenGeneration> results,
                BatchListener& listener) override {
    const CallGuard guard(options_.threads);
    GenerateAll(*MakeNetworkRunner(*network_, &recorder_, /*arena=*/false), requests,
                generate_limits_, results, listener);
  }

  std::vector<int> Split(std::span<const TokenScoreRequest> requests, int parts) const override {
    return SplitScorePlan(MakeScorePlan(requests, limits_), parts);
  }

  std::vector<int> Split(std::span<const TokenGenerateRequest> requests, int parts) const override {
    return SplitGenerateGroups(requests, GenerateGroups(requests, generate_limits_), parts);
  }

  void ReleaseSpareMemory() override { memory_.ReleaseSpare(); }

  std::unique_ptr<Session> NewSession(int64_t batch) override {
    const CallGuard guard(options_.threads);
    return MakeSession(network_, batch, options_.batch_tokens, options_.threads, &recorder_);
  }

  Trace Forward(std::span<const TokenId> ids, bool hidden_states,
                std::span<const int64_t> pieces) override {
    const CallGuard guard(options_.threads);
    Trace trace;
    trace.tokens = core::Size(ids);
    trace.layers = core::Size(network_->spec().layers);
    trace.hidden = network_->spec().hidden;
    const std::vector<int64_t> whole = {trace.tokens};
    if (pieces.empty()) pieces = whole;
    SequenceState state = network_->NewState();
    std::vector<std::vector<at::Tensor>> hidden(static_cast<size_t>(trace.layers + 1));
    size_t begin = 0;
    for (const int64_t piece : pieces) {
      if (piece < 1 || static_cast<int64_t>(begin) + piece > trace.tokens) {
        throw InternalError("forward: pieces don't add up to {} tokens", trace.tokens);
      }
      Batch batch;
      batch.choices = &recorder_;
      batch.Add(state, ids.subspan(begin, static_cast<size_t>(piece)), true);
      begin += static_cast<size_t>(piece);
      std::vector<at::Tensor> outputs;
      const at::Tensor x = network_->Forward(batch, hidden_states ? &outputs : nullptr);
      AppendTo(trace.logits, network_->Logits(x));
      if (!hidden_states) continue;
      outputs.back() = network_->FinalNorm(x);
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

  std::vector<SoftmaxShare> SoftmaxShares() const override { return recorder_.Shares(); }
  void SetChunkChoices(ChunkChoices* choices) override { recorder_.next = choices; }
  int64_t step_weight_bytes() const override { return network_->step_weight_bytes(); }

 private:
  static void AppendTo(std::vector<float>& target, const at::Tensor& values) {
    const float* data = values.data_ptr<float>();
    target.insert(target.end(), data, data + values.numel());
  }

  TensorMemory memory_;  // first: it goes after every tensor
  OpenOptions options_;
  std::shared_ptr<const Checkpoint> checkpoint_;
  std::unique_ptr<WeightSource> weights_;
  std::shared_ptr<const Network> network_;
  PlanLimits limits_;
  GenerateLimits generate_limits_;
  ChoiceRecorder recorder_;
  mutable std::once_flag fingerprint_once_;
  mutable ModelInfo info_;
};

}  // namespace

std::unique_ptr<NativeModel> OpenModel(const std::string& path, const OpenOptions& options) {
  return InContext(fmt::format("model {}", path), [&]() -> std::unique_ptr<NativeModel> {
    try {
      return std::make_unique<Model>(path, options);
    } catch (const c10::Error& error) {
      throw InternalError("LibTorch: {}", error.what_without_backtrace());
    }
  });
}

}  // namespace natsl::model_adapters::native
