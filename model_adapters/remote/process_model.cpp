#include "model_adapters/remote/process_model.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <mutex>

#include "core/clock.h"
#include "core/error.h"
#include "core/hash.h"
#include "core/limits.h"
#include "model_adapters/remote/child_process.h"
#include "model_adapters/remote/model_string.h"
#include "model_adapters/remote/process_protocol.h"

namespace natsl::model_adapters {
namespace {

/// The process is listened to this long at a time; then the run is asked whether to stop.
constexpr int64_t kListenMs = 200;
/// A request on which the process dies this often, alone, has failed.
constexpr int kDeathsOfOne = 2;

struct ProcessSteps {
  std::function<ProcessRequest(size_t)> make;
  /// Returns the tokens that the answer cost.
  std::function<int64_t(size_t, const ProcessAnswer&)> read;
  std::function<void(size_t, const std::string&)> fail;
};

class ProcessModel final : public LanguageModel {
 public:
  explicit ProcessModel(const std::string& model) : options_(ParseProcess(model)) {
    info_.name = model;
    Start();
    info_.family = "process";
    info_.dtype = hello_.dtype.empty() ? "the process's" : hello_.dtype;
    info_.device = hello_.device.empty() ? "the process's" : hello_.device;
    info_.max_length = hello_.max_length;
    info_.vocabulary = hello_.vocabulary;
    info_.parameters = hello_.parameters;
    info_.weights_fingerprint =
        hello_.fingerprint.empty()
            ? "process:" + core::Sha256Hex(hello_.name + "\n" + hello_.version)
            : hello_.fingerprint;
    info_.tokenizer_fingerprint = hello_.tokenizer_fingerprint;
    info_.settings = {{"process_name", hello_.name}, {"process_version", hello_.version}};
    in_flight_ =
        hello_.in_flight > 0 ? std::min(hello_.in_flight, options_.in_flight) : options_.in_flight;
  }

  const ModelInfo& Info() const override { return info_; }

  std::vector<std::string> Notes() const override {
    if (restarts_ == 0) return {};
    return {fmt::format("the model process was started again {} times; the last time, {}",
                        restarts_, last_death_)};
  }

  std::optional<int64_t> CountTokens(const std::string& text) const override {
    if (!hello_.count_tokens) return std::nullopt;
    // Starting and asking doesn't change what the model is.
    return const_cast<ProcessModel*>(this)->AskTokens(text);
  }

  void Loglikelihood(std::span<const LoglikelihoodRequest> requests,
                     std::span<LoglikelihoodResult> results, BatchListener& listener) override {
    Need(hello_.loglikelihood, "loglikelihood");
    Answer(requests, results, listener);
  }
  void LoglikelihoodRolling(std::span<const RollingRequest> requests,
                            std::span<RollingResult> results, BatchListener& listener) override {
    Need(hello_.rolling, "rolling");
    Answer(requests, results, listener);
  }
  void GenerateUntil(std::span<const GenerateRequest> requests, std::span<GenerateResult> results,
                     BatchListener& listener) override {
    Need(hello_.generate, "generate");
    Answer(requests, results, listener);
  }

 private:
  void Need(bool has, const char* capability) const {
    if (has) return;
    throw UsageError("{}: its hello doesn't name the capability \"{}\", which a task needs",
                     info_.name, capability);
  }

  template <typename Request, typename Result>
  void Answer(std::span<const Request> requests, std::span<Result> results,
              BatchListener& listener) {
    const std::lock_guard lock(mutex_);
    Run(requests.size(), listener,
        {.make = [&](size_t i) { return ProcessRequest(requests[i]); },
         .read =
             [&](size_t i, const ProcessAnswer& answer) {
               ReadResult(answer, results[i]);
               return results[i].context_tokens + results[i].output_tokens;
             },
         .fail = [&](size_t i, const std::string& why) { results[i].error = why; }});
  }

  int64_t AskTokens(const std::string& text) {
    const std::lock_guard lock(mutex_);
    BatchListener nobody;
    int64_t tokens = 0;
    std::string failure;
    Run(1, nobody,
        {.make = [&](size_t) { return CountTokensRequest{text}; },
         .read = [&](size_t,
                     const ProcessAnswer& answer) { return tokens = ReadTokenCount(answer); },
         .fail = [&](size_t, const std::string& why) { failure = why; }});
    if (!failure.empty()) throw ModelError("{}: counting tokens: {}", info_.name, failure);
    return tokens;
  }

  /// Starts the process and reads its hello.
  void Start() {
    process_ = std::make_unique<ChildProcess>(options_.command);
    ChildProcess::Received received;
    const int64_t until = clock_.NowNs() + options_.start_ms * core::kNsPerMs;
    do {
      received = process_->Receive(kListenMs, limits::kMaxLineBytes);
    } while (received.event == ChildProcess::Event::kTimeOut && clock_.NowNs() < until);
    if (received.event == ChildProcess::Event::kLine) {
      ReadHelloOf(received.line);
      return;
    }
    const bool ended = received.event == ChildProcess::Event::kEnd;
    const std::string status = ended ? process_->Reap() : process_->Kill();
    process_.reset();
    if (ended) throw ModelError("{}: ended ({}) before its hello", info_.name, status);
    throw ModelError("{}: said no hello within {} s (start=SECONDS changes that)", info_.name,
                     static_cast<double>(options_.start_ms) / 1000);
  }

  void ReadHelloOf(const std::string& line) {
    ProcessHello hello;
    try {
      hello = ReadHello(line);
    } catch (const ProtocolError& error) {
      process_->Kill();
      process_.reset();
      throw ModelError("{}: {}", info_.name, error.what());
    }
    if (started_ && (hello.name != hello_.name || hello.fingerprint != hello_.fingerprint ||
                     hello.max_length != hello_.max_length)) {
      throw ModelError(
          "{}: says hello as another model after a restart ({}, {} tokens; before {}, "
          "{} tokens)",
          info_.name, hello.name, hello.max_length, hello_.name, hello_.max_length);
    }
    started_ = true;
    hello_ = std::move(hello);
  }

  void Run(size_t count, BatchListener& listener, const ProcessSteps& steps) {
    next_ = 0;
    open_.clear();
    suspects_.clear();
    deaths_of_.clear();
    heard_ns_ = clock_.NowNs();
    try {
      while (true) {
        Fill(count, listener, steps);
        if (open_.empty()) return;
        Listen(listener, steps);
        if (!listener.StopRequested()) continue;
        // What is still open would be answered into the next run.
        process_->Kill();
        process_.reset();
        return;
      }
    } catch (const ProtocolError& error) {
      process_->Kill();
      process_.reset();
      throw ModelError("{}: {}", info_.name, error.what());
    }
  }

  void Fill(size_t count, BatchListener& listener, const ProcessSteps& steps) {
    const auto send = [&](size_t index) {
      if (process_ == nullptr) {
        Start();
        heard_ns_ = clock_.NowNs();
      }
      if (open_.empty()) heard_ns_ = clock_.NowNs();
      process_->Send(WriteRequest(next_id_, steps.make(index)));
      open_.emplace(next_id_++, index);
    };
    // After a death the requests that were open go alone, until all of them are known to be good.
    if (!suspects_.empty()) {
      if (!open_.empty()) return;
      send(suspects_.front());
      suspects_.pop_front();
      alone_ = true;
      return;
    }
    if (alone_ && !open_.empty()) return;
    alone_ = false;
    for (; next_ < count && static_cast<int64_t>(open_.size()) < in_flight_; ++next_) {
      if (listener.Wanted(next_)) send(next_);
    }
  }

  /// Waits for an answer and takes all that are there.
  void Listen(BatchListener& listener, const ProcessSteps& steps) {
    std::vector<size_t> finished;
    int64_t tokens = 0, wait_ms = kListenMs;
    std::string death;
    while (death.empty() && !open_.empty()) {
      ChildProcess::Received received = process_->Receive(wait_ms, limits::kMaxLineBytes);
      wait_ms = 0;
      if (received.event == ChildProcess::Event::kLine) {
        heard_ns_ = clock_.NowNs();
        const ProcessAnswer answer = ReadAnswerId(received.line);
        const size_t index = Close(answer.id);
        try {
          tokens += steps.read(index, answer);
        } catch (const Error& error) {
          steps.fail(index, error.what());
        }
        finished.push_back(index);
        deaths_in_row_ = 0;
      } else if (received.event == ChildProcess::Event::kTooLong) {
        throw ProtocolError(
            fmt::format("it wrote a line of more than {} bytes", limits::kMaxLineBytes));
      } else if (received.event == ChildProcess::Event::kEnd) {
        death = "it ended (" + process_->Reap() + ")";
      } else {
        const int64_t silent_ms = (clock_.NowNs() - heard_ns_) / core::kNsPerMs;
        if (silent_ms < options_.timeout_ms) break;
        process_->Kill();
        death = fmt::format("it gave no answer for {} s",
                            static_cast<double>(options_.timeout_ms) / 1000);
      }
    }
    if (!death.empty()) OnDeath(death, finished, steps);
    if (!finished.empty()) listener.OnBatch(finished, tokens);
    if (deaths_in_row_ <= options_.restarts) return;
    throw ModelError("{}: failed {} times in a row with no answer in between; the last time, {}",
                     info_.name, deaths_in_row_, death);
  }

  size_t Close(int64_t id) {
    const auto found = open_.find(id);
    if (found == open_.end()) {
      throw ProtocolError(fmt::format(
          "it answered request {}, {}", id,
          id >= 0 && id < next_id_ ? "which has its answer already" : "which was never asked"));
    }
    const size_t index = found->second;
    open_.erase(found);
    return index;
  }

  void OnDeath(const std::string& death, std::vector<size_t>& finished, const ProcessSteps& steps) {
    process_.reset();
    ++deaths_in_row_;
    ++restarts_;
    last_death_ = death;
    if (open_.size() == 1) {
      const size_t index = open_.begin()->second;
      if (++deaths_of_[index] >= kDeathsOfOne) {
        steps.fail(index, fmt::format("the model process failed {} times on this request alone; "
                                      "the last time, {}",
                                      kDeathsOfOne, death));
        finished.push_back(index);
        open_.clear();
      }
    }
    for (auto at = open_.rbegin(); at != open_.rend(); ++at) suspects_.push_front(at->second);
    open_.clear();
  }

  ProcessOptions options_;
  ModelInfo info_;
  ProcessHello hello_;
  core::SteadyClock clock_;
  std::mutex mutex_;
  std::unique_ptr<ChildProcess> process_;
  bool started_ = false;
  int64_t in_flight_ = 1;
  int64_t next_id_ = 0;
  int64_t restarts_ = 0;
  std::string last_death_;

  // Of the current run.
  size_t next_ = 0;
  std::map<int64_t, size_t> open_;  ///< id of a request that was sent: its index
  std::deque<size_t> suspects_;     ///< open when the process died
  bool alone_ = false;              ///< the open request is a suspect
  std::map<size_t, int> deaths_of_;
  int64_t deaths_in_row_ = 0;
  int64_t heard_ns_ = 0;
};

}  // namespace

std::unique_ptr<LanguageModel> OpenProcessModel(const std::string& model) {
  return std::make_unique<ProcessModel>(model);
}

}  // namespace natsl::model_adapters
