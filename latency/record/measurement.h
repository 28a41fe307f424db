// What a latency run measured, as plain data: the profiler fills it, reports write it and read it
// back. Nothing here knows of models, clocks or file formats.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace natsl::latency {

/// Version of the record's shape in latency.json ("schema_version").
inline constexpr int kRecordVersion = 1;

/// Changes whenever a definition of a phase or the way of sampling does: runs of different methods
/// are never compared.
inline constexpr const char* kMethod = "natsl-latency/1";

enum class Phase { kPrefill, kFirstToken, kDecode, kEndToEnd, kTokenize, kSample };
const char* Name(Phase phase);        ///< "prefill", "ttft", "decode", "e2e", "tokenize", "sample"
const char* Definition(Phase phase);  ///< one sentence for the reader of a table
const std::vector<Phase>& AllPhases();

/// What is measured. Lengths are tokens a sequence; what a phase doesn't use is 0.
struct Point {
  Phase phase = Phase::kPrefill;
  int64_t batch = 1;
  int64_t prompt = 0;      ///< prefill, ttft, e2e, tokenize
  int64_t depth = 0;       ///< decode, sample: tokens before the first timed one
  int64_t new_tokens = 0;  ///< decode, e2e

  bool operator==(const Point&) const = default;
};
/// llama-bench's way of naming: "pp512", "tg64@d32k", "ttft4k", "pp1k+tg64", "tok1k",
/// "sample@d1k"; "x8" behind it for a batch of 8.
std::string Name(const Point& point);
/// Tokens that one sample of the point handles, all sequences together; 0 for kSample.
int64_t TokensOf(const Point& point);

/// Statistics of samples in seconds. What the number of samples doesn't support is absent.
struct Summary {
  int64_t count = 0;
  double median = 0, minimum = 0, maximum = 0, mean = 0;
  double deviation = 0;             ///< sample deviation; 0 for one sample
  std::optional<double> low, high;  ///< 95 % interval of the median
  std::optional<double> p90, p99;
};

struct Memory {
  int64_t weights_bytes = 0;
  int64_t kv_bytes = 0, recurrent_bytes = 0, convolution_bytes = 0;  ///< all sequences
  std::optional<int64_t> activations_bytes;  ///< most at one time beyond weights and states
  std::optional<int64_t> peak_bytes;         ///< of the process (cpu) or the device's allocator
  double state_bytes_per_token = 0;          ///< state over tokens held, a sequence
  int64_t pass_tokens = 0;  ///< of the longest forward pass that made the state; 0: not known
  std::string source;       ///< where the peak comes from, or why there is none
};

struct Roofline {
  double flops = 0, bytes = 0;          ///< of one sample, by the model's arithmetic
  std::optional<double> limit_seconds;  ///< the larger of the two at measured peaks
  std::optional<double> compute_share, bandwidth_share;  ///< reached of the measured peaks
  std::string absent;                                    ///< why there is no limit
};

/// GPU counters around a point's samples.
struct GpuReading {
  double sm_mhz = 0, memory_mhz = 0, watts = 0, celsius = 0;
  std::optional<double> joules_per_token;
  std::vector<std::string> throttle_reasons;
};

struct HeadShare {
  int64_t layer = 0, head = 0;
  int64_t softmax_chunks = 0, chunks = 0;
};

/// One point of one variant.
struct Measurement {
  Point point;
  int64_t variant = 0;          ///< index into LatencyRecord::variants
  double cold_seconds = 0;      ///< the very first run of this shape
  std::vector<double> warm_up;  ///< seconds, not in the statistics
  std::vector<double> samples;  ///< seconds, in the order of rounds; decode: a token
  std::vector<int64_t> rounds;  ///< which round each sample is of: variants share rounds
  std::vector<double> steps;    ///< decode: single steps, each waited for
  std::string stopped_because;  ///< "interval", "time", "samples", "signal"
  Summary summary;
  Summary step_summary;
  Memory memory;
  Roofline roofline;
  std::vector<HeadShare> softmax_shares;
  std::optional<GpuReading> gpu;
  std::vector<std::string> labels;  ///< "noisy: ...", "throttled: ..."
};

/// Subject or baseline, at one forced softmax share.
struct Variant {
  std::string role;                     ///< "subject", "baseline 1", ...
  std::string model;                    ///< path as given
  std::string label;                    ///< short, unique: for tables and legends
  std::optional<double> softmax_share;  ///< forced
  std::string family, dtype, device, weights_fingerprint;
  int64_t parameters = 0, weights_bytes = 0, max_length = 0, vocabulary = 0;
};

struct CanaryRates {
  double flops_per_second = 0, bytes_per_second = 0;
};

struct GpuDescription {
  std::string name, uuid, driver;
  int64_t memory_bytes = 0;
  double highest_sm_mhz = 0;  ///< that the card is built for; 0: not told
};

struct Machine {
  std::string host, boot_id, cpu, governor, kernel;
  int64_t cores = 0;         ///< that this process may use
  int64_t memory_bytes = 0;  ///< of the machine
  double mhz_before = 0, mhz_after = 0;
  double load_before = 0, load_after = 0;  ///< one-minute load averages
  std::vector<GpuDescription> gpus;
  std::string gpu_absent;                                  ///< why NVML tells nothing
  std::optional<CanaryRates> canary_before, canary_after;  ///< host: matrix product and copy
  std::optional<CanaryRates> device_before, device_after;  ///< the device's own, not on cpu
  std::optional<GpuReading> gpu_before, gpu_after;         ///< right behind the device's canaries
};

/// cost = a + b L + c L^2 of a variant's prefill, and its exponent.
struct LengthFit {
  int64_t variant = 0;
  Phase phase = Phase::kPrefill;
  int64_t batch = 1;
  bool valid = false;
  double a = 0, b = 0, c = 0;
  double largest_error = 0;
  std::optional<double> exponent, exponent_low, exponent_high;
  int64_t exponent_points = 0, exponent_from = 0;  ///< lengths of the exponent, and the shortest
};

/// A baseline's time over the subject's at one point: above 1 the subject is faster.
struct SpeedUp {
  Point point;
  int64_t variant = 0, baseline = 0;
  double ratio = 0;
  std::optional<double> low, high;
};

struct Crossover {
  int64_t variant = 0, baseline = 0;
  Phase phase = Phase::kPrefill;
  int64_t batch = 1;
  std::optional<double> length;  ///< from here on the subject is faster, by the fits
  std::string text;              ///< "beyond 12.3k tokens", "at every length measured", ...
};

struct MethodSettings {
  double interval_target = 0.01;  ///< of the median, half the interval's width over it
  double seconds_per_point = 0;   ///< cap of one variant's samples
  int64_t min_samples = 0, max_samples = 0;
  std::string depth_state;  ///< "prefill" or "synthetic"
  std::string ids;          ///< "random", or the SHA-256 of the text they come from
  uint64_t seed = 0;
  int64_t batch_tokens = 0;
  int64_t threads = 0;
};

struct LatencyRecord {
  std::string program_version, method = kMethod, build;
  std::string started_utc, ended_utc;
  std::vector<std::string> arguments;
  bool complete = false;
  std::string incomplete_because;
  MethodSettings settings;
  Machine machine;
  std::vector<Variant> variants;  ///< the subject's first
  std::vector<Measurement> measurements;
  std::vector<LengthFit> fits;
  std::vector<SpeedUp> speed_ups;
  std::vector<Crossover> crossovers;
  std::vector<std::string> labels;  ///< of the whole run: "noisy: ...", "throttled: ..."
};

}  // namespace natsl::latency
