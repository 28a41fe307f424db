#include "latency/profiler.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "core/cast.h"
#include "core/error.h"
#include "core/python_random.h"
#include "latency/host_memory.h"
#include "latency/record/summary.h"

namespace natsl::latency {
namespace {

using model_adapters::Session;
using model_adapters::SoftmaxShare;

// Beyond this spread a point is called noisy even if its median is sure.
constexpr double kNoisySpread = 0.25;

/// One variant at one point.
struct Run {
  size_t variant = 0;
  Measurement measurement;
  std::unique_ptr<Probe> probe;
  std::unique_ptr<SamplingRule> rule;
  std::vector<SoftmaxShare> shares_before;
  double spent = 0;
};

std::vector<HeadShare> Since(const std::vector<SoftmaxShare>& before,
                             const std::vector<SoftmaxShare>& after) {
  std::map<std::pair<int64_t, int64_t>, const SoftmaxShare*> known;
  for (const SoftmaxShare& share : before) known[{share.layer, share.head}] = &share;
  std::vector<HeadShare> shares;
  for (const SoftmaxShare& share : after) {
    HeadShare head{share.layer, share.head, share.softmax_chunks, share.chunks};
    if (const auto found = known.find({share.layer, share.head}); found != known.end()) {
      head.softmax_chunks -= found->second->softmax_chunks;
      head.chunks -= found->second->chunks;
    }
    if (head.chunks > 0) shares.push_back(head);
  }
  return shares;
}

/// Points one after the other; all variants of a point together.
class Profiler {
 public:
  Profiler(const std::vector<Measured>& variants, const ProfileOptions& options,
           const core::Clock& clock, LatencyRecord& record)
      : variants_(variants),
        options_(options),
        clock_(clock),
        record_(record),
        random_(options.probe.seed) {}

  void Measure(const std::vector<Point>& points) {
    for (size_t i = 0; i < points.size(); ++i) {
      if (Stopped()) break;
      try {
        MeasurePoint(points[i]);
      } catch (const Error& error) {
        Fail(points[i], error.what());
        throw error.WithContext(Name(points[i]));
      } catch (const std::exception& error) {
        Fail(points[i], error.what());
        throw InternalError("{}: {}", Name(points[i]), error.what());
      }
      Report(points[i], i + 1, points.size());
      if (options_.keep) options_.keep(record_);
    }
    if (Stopped()) record_.incomplete_because = "stopped by a signal";
  }

 private:
  bool Stopped() const { return options_.stop_requested && options_.stop_requested(); }

  double SecondsSince(int64_t begin_ns) const {
    return static_cast<double>(clock_.NowNs() - begin_ns) * 1e-9;
  }

  void Note(const std::string& text) const {
    if (options_.note) options_.note(text);
  }

  void MeasurePoint(const Point& point) {
    runs_.clear();
    for (size_t v = 0; v < variants_.size(); ++v) {
      // A variant without what the phase needs measures nothing: the others still do.
      if (point.phase == Phase::kTokenize && variants_[v].target.tokenizer == nullptr) continue;
      Run& run = runs_.emplace_back();
      run.variant = v;
      run.measurement.point = point;
      run.measurement.variant = static_cast<int64_t>(v);
      run.shares_before = variants_[v].target.model->SoftmaxShares();
      run.probe = MakeProbe(variants_[v].target, point, options_.probe, clock_);
      run.rule = std::make_unique<SamplingRule>(options_.stopping);
    }
    for (Run& run : runs_) Warm(run);
    const std::optional<double> joules = options_.gpu ? options_.gpu->Joules() : std::nullopt;
    const int64_t rounds = Rounds();
    ReadGpu(joules, rounds);
    for (Run& run : runs_) {
      if (run.measurement.samples.empty()) continue;
      TakeSteps(run);
      MeasureMemory(run);
      Finish(run);
    }
    for (Run& run : runs_) {
      if (!run.measurement.samples.empty())
        record_.measurements.push_back(std::move(run.measurement));
    }
    runs_.clear();
  }

  void Warm(Run& run) {
    WarmUp warm_up(options_.warm_up, clock_);
    while (!warm_up.done() && !Stopped()) warm_up.Add(run.probe->Sample());
    if (warm_up.runs().empty()) return;
    run.measurement.cold_seconds = warm_up.runs().front();
    run.measurement.warm_up.assign(warm_up.runs().begin() + 1, warm_up.runs().end());
    if (!warm_up.agreed() && !Stopped()) {
      run.measurement.labels.push_back(
          "noisy: the warm-up's windows didn't agree before its limit");
    }
  }

  // Every variant once a round, in random order; returns the number of rounds.
  int64_t Rounds() {
    std::vector<Run*> order;
    for (Run& run : runs_) order.push_back(&run);
    int64_t round = 0;
    const auto going_on = [&] {
      return std::any_of(runs_.begin(), runs_.end(),
                         [](const Run& run) { return !run.rule->done(); });
    };
    while (going_on() && !Stopped()) {
      random_.Shuffle(order);
      for (Run* run : order) {
        // Whoever is done goes on as a partner of the others, but not beyond its own time.
        if (run->rule->done() && run->spent >= options_.stopping.max_seconds) continue;
        const int64_t begin_ns = clock_.NowNs();
        const double seconds = run->probe->Sample();
        // With what a sample prepares outside of its time: that may take far longer.
        const double spent = SecondsSince(begin_ns);
        run->measurement.samples.push_back(seconds);
        run->measurement.rounds.push_back(round);
        run->spent += spent;
        if (!run->rule->done()) run->rule->Add(seconds, spent);
      }
      ++round;
    }
    for (Run& run : runs_) {
      run.measurement.stopped_because = run.rule->done() ? run.rule->reason() : "signal";
    }
    return round;
  }

  void ReadGpu(std::optional<double> joules_before, int64_t rounds) {
    if (options_.gpu == nullptr || runs_.empty()) return;
    GpuReading reading = options_.gpu->Read();
    const std::optional<double> joules = options_.gpu->Joules();
    // Variants that take turns can't be told apart by one counter.
    const Run& only = runs_.front();
    const double tokens = static_cast<double>(TokensOf(only.measurement.point) * rounds) *
                          static_cast<double>(only.measurement.point.phase == Phase::kDecode
                                                  ? only.measurement.point.new_tokens
                                                  : 1);
    if (runs_.size() == 1 && joules && joules_before && tokens > 0) {
      reading.joules_per_token = (*joules - *joules_before) / tokens;
    }
    for (Run& run : runs_) {
      run.measurement.gpu = reading;
      if (reading.throttle_reasons.empty()) continue;
      run.measurement.labels.push_back(
          fmt::format("throttled: {}", fmt::join(reading.throttle_reasons, ", ")));
    }
  }

  void TakeSteps(Run& run) {
    std::vector<double>& steps = run.measurement.steps;
    const int64_t begin_ns = clock_.NowNs();
    double left = options_.stopping.max_seconds / 2;
    while (core::Size(steps) < options_.wished_steps && !Stopped() && left > 0) {
      const std::vector<double> some = run.probe->Steps(left);
      if (some.empty()) return;
      steps.insert(steps.end(), some.begin(), some.end());
      left = options_.stopping.max_seconds / 2 - SecondsSince(begin_ns);
    }
  }

  // One more sample, not timed: what is held at its end, and the most that was in use on the way.
  void MeasureMemory(Run& run) {
    Memory& memory = run.measurement.memory;
    memory.weights_bytes = record_.variants[run.variant].weights_bytes;
    if (run.measurement.point.phase == Phase::kTokenize) {
      memory.source = "tokenising uses no state";
      return;
    }
    model_adapters::TokenModel& model = *variants_[run.variant].target.model;
    const bool on_device = model.Memory().has_value();
    const auto trim = [&] {
      model.ReleaseSpareMemory();
      TrimHeap();
    };
    trim();
    bool reset = true;
    if (on_device) {
      model.ResetPeakMemory();
    } else {
      reset = latency::ResetPeakMemory();
    }
    run.probe->Sample([&](const Session& session) {
      const model_adapters::StateBytes bytes = session.StateBytes();
      memory.kv_bytes = bytes.kv;
      memory.recurrent_bytes = bytes.recurrent;
      memory.convolution_bytes = bytes.convolution;
      memory.state_bytes_per_token =
          static_cast<double>(bytes.total()) /
          static_cast<double>(std::max<int64_t>(1, session.length() * session.batch()));
      memory.pass_tokens = session.longest_pass();
      const std::string models =
          variants_.size() == 1 ? "one model" : fmt::format("{} models", variants_.size());
      if (on_device) {
        const auto now = model.Memory();
        memory.peak_bytes = now->peak_bytes;
        memory.activations_bytes = std::max<int64_t>(0, now->peak_bytes - now->allocated_bytes);
        memory.source = fmt::format("the device's allocator, {} in it", models);
        return;
      }
      const auto peak = ReadProcessMemory();
      trim();
      const auto after = ReadProcessMemory();
      if (!peak || !after || !reset) {
        memory.source = "the kernel doesn't let this process reset its high-water mark";
        return;
      }
      memory.peak_bytes = peak->peak_bytes;
      memory.activations_bytes = std::max<int64_t>(0, peak->peak_bytes - after->resident_bytes);
      memory.source = fmt::format("high-water mark of the process, {} in it", models);
    });
  }

  void Finish(Run& run) {
    Measurement& measurement = run.measurement;
    measurement.summary = Summarize(measurement.samples);
    measurement.step_summary = Summarize(measurement.steps);
    measurement.softmax_shares =
        Since(run.shares_before, variants_[run.variant].target.model->SoftmaxShares());
    const double spread =
        measurement.summary.deviation / std::max(1e-12, measurement.summary.median);
    if (spread > kNoisySpread) {
      measurement.labels.push_back(
          fmt::format("noisy: samples spread by {:.0f} % of their median", 100 * spread));
    }
  }

  void Report(const Point& point, size_t done, size_t all) const {
    for (const Measurement& m : record_.measurements) {
      if (!(m.point == point)) continue;
      Note(fmt::format("[{}/{}] {} {}: {:.4g} ms, {} samples ({})", done, all,
                       record_.variants[static_cast<size_t>(m.variant)].label, Name(m.point),
                       m.summary.median * 1e3, m.summary.count, m.stopped_because));
    }
  }

  void Fail(const Point& point, const std::string& why) {
    for (Run& run : runs_) {
      // What was sampled before the failure is still true.
      if (run.measurement.samples.empty()) continue;
      // The model is not asked for anything any more.
      run.measurement.stopped_because = "failure";
      run.measurement.summary = Summarize(run.measurement.samples);
      record_.measurements.push_back(std::move(run.measurement));
    }
    runs_.clear();
    record_.incomplete_because = fmt::format("{}: {}", Name(point), why);
    if (options_.keep) options_.keep(record_);
  }

  const std::vector<Measured>& variants_;
  const ProfileOptions& options_;
  const core::Clock& clock_;
  LatencyRecord& record_;
  core::PythonRandom random_;
  std::vector<Run> runs_;
};

}  // namespace

void Profile(const std::vector<Point>& points, const std::vector<Measured>& variants,
             const ProfileOptions& options, const core::Clock& clock, LatencyRecord& record) {
  Profiler(variants, options, clock, record).Measure(points);
}

Roofline RooflineOf(const model_adapters::ModelSpec* spec, const Storage& storage,
                    const Measurement& measurement, const std::optional<CanaryRates>& rates) {
  Roofline roofline;
  if (spec == nullptr) {
    roofline.absent = "the model's arithmetic is not known";
    return roofline;
  }
  if (measurement.point.phase == Phase::kTokenize) {
    roofline.absent = "tokenising is not the model's arithmetic";
    return roofline;
  }
  Storage observed = storage;
  int64_t softmax = 0, chunks = 0;
  for (const HeadShare& share : measurement.softmax_shares) {
    softmax += share.softmax_chunks;
    chunks += share.chunks;
  }
  if (chunks > 0)
    observed.softmax_share = static_cast<double>(softmax) / static_cast<double>(chunks);
  if (measurement.memory.pass_tokens > 0) observed.batch_tokens = measurement.memory.pass_tokens;
  const Work work = WorkOf(*spec, measurement.point, observed);
  roofline.flops = work.flops;
  roofline.bytes = work.bytes;
  if (!rates || !(rates->flops_per_second > 0) || !(rates->bytes_per_second > 0)) {
    roofline.absent = "the device's peaks were not measured";
    return roofline;
  }
  const double compute = work.flops / rates->flops_per_second;
  const double transfer = work.bytes / rates->bytes_per_second;
  roofline.limit_seconds = std::max(compute, transfer);
  if (measurement.summary.median > 0) {
    roofline.compute_share = compute / measurement.summary.median;
    roofline.bandwidth_share = transfer / measurement.summary.median;
  }
  return roofline;
}

}  // namespace natsl::latency
