// The training loop.
#include "training/loop/trainer.h"

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>

#include "core/clock.h"
#include "core/error.h"
#include "core/files.h"
#include "core/folder_lock.h"
#include "core/hash.h"
#include "model_adapters/spec/checkpoint.h"
#include "model_adapters/tokenizer.h"
#include "training/loop/batches.h"
#include "training/loop/card.h"
#include "training/loop/checkpoint.h"
#include "training/loop/optimizer.h"
#include "training/loop/train_log.h"
#include "training/loop/train_step.h"
#include "training/network.h"

namespace natsl::training {
namespace {

namespace fs = std::filesystem;

/// "out" of "out/": what the folder is called stands in the plot and the card.
fs::path WithoutSlash(const fs::path& folder) {
  return folder.has_filename() ? folder : folder.parent_path();
}

class Run {
 public:
  Run(const TrainOptions& options, Rank rank)
      : options_(options),
        rank_(rank),
        folder_(WithoutSlash(options.output)),
        config_(core::ReadFile(options.config, ErrorCode::kModel)),
        spec_(model_adapters::ParseModelSpec(config_, options.config)),
        tokenizer_(model_adapters::OpenTokenizer(options.tokenizer)),
        schedule_{options.steps, options.warmup, options.lr, options.min_lr},
        phases_(ParseCurriculum(
            options.curriculum.empty() ? std::to_string(options.context) : options.curriculum,
            options.steps)) {
    if (tokenizer_->vocabulary_size() > spec_.vocabulary) {
      throw ModelError("{}: vocabulary of {}, but the tokenizer {} has {} ids", options.config,
                       spec_.vocabulary, options.tokenizer, tokenizer_->vocabulary_size());
    }
    std::error_code error;
    fs::create_directories(folder_, error);
    if (error) {
      throw UsageError("{}: cannot create the output folder: {}", folder_.string(),
                       error.message());
    }
    if (rank.index == 0) lock_.emplace(folder_, "train.lock", core::FolderLock::File::kGoes);
    identity_ = IdentityJson(options) + " config " + core::Sha256Hex(config_) + " tokenizer " +
                tokenizer_->fingerprint();
    device_ = OpenTrainDevice(options.device, rank, (folder_ / "ranks").string());
    network_ = std::make_unique<Network>(spec_, options.seed, device_->device());
    optimizer_ = std::make_unique<AdamW>(
        network_->Parameters(),
        AdamWOptions{options.beta1, options.beta2, 1e-8, options.weight_decay, options.clip},
        schedule_);
    dtype_ = options.dtype == "bfloat16" ? at::kBFloat16 : at::kFloat;
    step_ =
        std::make_unique<TrainStep>(*network_, *optimizer_, *device_, dtype_, options.accumulate);
    Resume();
    log_ = std::make_unique<TrainLog>(folder_, done_);
    seconds_before_ = log_->seconds();
  }

  TrainResult Go(const std::atomic<bool>& stop) {
    const int64_t first = done_;
    BatchPlan plan{.phases = phases_,
                   .batch_tokens = options_.batch_tokens / rank_.count,
                   .seed = options_.seed,
                   .rank = rank_.index,
                   .first_step = done_,
                   .steps = options_.steps,
                   .threads = options_.threads};
    BatchSource batches(tokenizer_, ParseMixture(options_.mixture), plan,
                        [&](int64_t count) { return device_->HostBuffer({count}); });
    const core::SteadyClock clock;
    begin_ns_ = measured_ns_ = clock.NowNs();
    measured_from_ = done_;
    while (done_ < options_.steps && !stop) {
      if (options_.stop_after > 0 && done_ - first >= options_.stop_after) break;
      OneStep(batches);
      const bool log = done_ % options_.log_every == 0 || done_ == options_.steps;
      if (log) Log(clock);
      // Recordings of a phase's first steps don't count as speed.
      if (done_ - PhaseOf(phases_, done_ - 1).begin == kSettled) {
        device_->Synchronize();
        measured_ns_ = clock.NowNs();
        measured_from_ = done_;
      }
      if (done_ % options_.checkpoint_every == 0 && done_ < options_.steps) Save();
    }
    device_->Synchronize();
    seconds_ = seconds_before_ + Seconds(clock.NowNs() - begin_ns_);
    Save();
    TrainResult result;
    result.step = done_;
    result.finished = done_ == options_.steps;
    if (!log_->lines().empty()) result.loss = log_->lines().back().loss;
    result.tokens_per_second = tokens_per_second_;
    // Of a run that was over before the card stays as it is: nothing was trained now.
    const bool described = first == options_.steps && IsDescribed(folder_);
    if (result.finished && rank_.index == 0 && !described) Finish();
    return result;
  }

 private:
  static constexpr int64_t kSettled = 5;
  static double Seconds(int64_t ns) { return static_cast<double>(ns) * 1e-9; }

  void Resume() {
    const std::optional<TrainingState> state = LoadState(folder_);
    if (!state) return;
    if (state->identity != identity_) {
      throw UsageError(
          "{}: holds another run (other options, config or tokenizer); give another --output, or "
          "remove it",
          folder_.string());
    }
    optimizer_->Load(state->tensors);
    const auto sums = state->tensors.find("sums");
    if (sums == state->tensors.end() || sums->second.numel() != 3) {
      throw DataError("{}: the training state has no sums", folder_.string());
    }
    step_->sums().copy_(sums->second);
    done_ = state->step;
    if (!options_.quiet && rank_.index == 0) {
      std::fprintf(stderr, "going on from step %lld\n", static_cast<long long>(done_));
    }
  }

  void OneStep(BatchSource& batches) {
    const Phase& phase = PhaseOf(phases_, done_);
    const BatchSource::Batch batch = batches.Next();
    if (phase.context != recorded_context_) {
      // The last phase's recording and its memory go first.
      device_->Synchronize();
      recorded_.reset();
      input_ =
          at::empty(batch.tokens.sizes(), at::TensorOptions(device_->device()).dtype(at::kLong));
      recorded_ = device_->Record([this] { step_->Run(input_); });
      recorded_context_ = phase.context;
    }
    device_->Upload(batch.tokens, input_, batch.slot);
    (*recorded_)();
    ++done_;
    // The copy ends long before the step does; by the next batch it is over.
    device_->WaitUploaded(batch.slot);
    batches.Return(batch.slot);
  }

  void Log(const core::Clock& clock) {
    const at::Tensor sums = step_->sums().to(at::kCPU, at::kFloat).contiguous();
    const int64_t now_ns = clock.NowNs();  // the device is done with the steps
    const float* values = sums.const_data_ptr<float>();
    const double steps = values[2];
    LogLine line;
    line.step = done_;
    line.tokens = done_ * options_.batch_tokens;
    line.context = PhaseOf(phases_, done_ - 1).context;
    line.loss = values[0] / steps;
    line.learning_rate = LearningRate(schedule_, done_ - 1);
    line.gradient_norm = optimizer_->gradient_norm().to(at::kCPU).item<double>();
    if (step_->softmax_share().defined()) line.softmax_share = values[1] / steps;
    step_->sums().zero_();
    if (done_ > measured_from_) {
      tokens_per_second_ = static_cast<double>((done_ - measured_from_) * options_.batch_tokens) /
                           Seconds(now_ns - measured_ns_);
    }
    if (!std::isfinite(line.loss)) {
      throw ModelError("the loss is {} at step {}: training diverged; lower --lr or --clip",
                       line.loss, done_);
    }
    if (rank_.index != 0) return;
    log_->Add(line, seconds_before_ + Seconds(now_ns - begin_ns_), tokens_per_second_);
    if (!options_.quiet) {
      std::fprintf(stderr, "step %lld/%lld  context %lld  loss %.4f  %.0f tokens/s\n",
                   static_cast<long long>(done_), static_cast<long long>(options_.steps),
                   static_cast<long long>(line.context), line.loss, tokens_per_second_);
    }
  }

  void Save() {
    device_->Synchronize();
    if (rank_.index != 0) return;
    SaveModel(folder_, network_->Parameters(),
              options_.save_dtype == "bfloat16" ? at::kBFloat16 : at::kFloat, config_,
              options_.tokenizer);
    TrainingState state;
    state.step = done_;
    state.identity = identity_;
    state.tensors = optimizer_->State();
    state.tensors["sums"] = step_->sums();
    SaveState(folder_, state);
    if (!log_->lines().empty()) log_->WritePlot(folder_.filename().string());
  }

  void Finish() const {
    if (log_->lines().empty()) {
      throw DataError("{}: holds no log of its steps; start again in another folder",
                      folder_.string());
    }
    CardFacts facts;
    facts.family = spec_.family;
    for (const auto& [name, parameter] : network_->Parameters()) {
      facts.parameters += parameter.numel();
    }
    facts.device = device_->Description();
    facts.seconds = seconds_;
    facts.peak_memory_bytes = device_->PeakMemoryBytes();
    facts.tokens_per_second = tokens_per_second_;
    facts.last = log_->lines().back();
    if (step_->softmax_share().defined()) {
      const at::Tensor share = step_->softmax_share().to(at::kCPU).contiguous();
      for (int64_t layer = 0; layer < share.size(0); ++layer) {
        const float* row = share.const_data_ptr<float>() + layer * share.size(1);
        facts.softmax_share.emplace_back(row, row + share.size(1));
      }
    }
    WriteCard(folder_, options_, facts);
  }

  TrainOptions options_;
  Rank rank_;
  fs::path folder_;
  std::optional<core::FolderLock> lock_;  ///< rank 0's
  std::string config_, identity_;
  model_adapters::ModelSpec spec_;
  std::shared_ptr<const model_adapters::Tokenizer> tokenizer_;
  ScheduleOptions schedule_;
  std::vector<Phase> phases_;
  std::unique_ptr<TrainDevice> device_;
  std::unique_ptr<Network> network_;
  std::unique_ptr<AdamW> optimizer_;
  at::ScalarType dtype_ = at::kFloat;
  std::unique_ptr<TrainStep> step_;
  std::unique_ptr<TrainLog> log_;

  at::Tensor input_;
  std::unique_ptr<std::function<void()>> recorded_;
  int64_t recorded_context_ = 0;
  int64_t done_ = 0;
  int64_t begin_ns_ = 0, measured_ns_ = 0, measured_from_ = 0;
  double seconds_before_ = 0;  ///< of earlier calls, up to their last line of the log
  double seconds_ = 0, tokens_per_second_ = 0;
};

}  // namespace

TrainResult Train(const TrainOptions& options, Rank rank, const std::atomic<bool>& stop) {
  CheckTrainOptions(options);
  return Run(options, rank).Go(stop);
}

}  // namespace natsl::training
