// What a task run was and what came of it, as plain versioned data: evaluators fill it, reports
// write it. Nothing here knows of tasks, models or file formats.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace natsl::reports {

/// Version of the record's shape in results.json ("schema").
inline constexpr int kRunRecordVersion = 1;

/// A number, or why there is none. Never NaN or infinite.
struct Number {
  std::optional<double> value;
  std::string reason;  ///< why `value` is absent

  static Number Of(double value) {
    if (std::isnan(value)) return Missing("not a number");
    if (std::isinf(value)) return Missing(value > 0 ? "infinite" : "negative infinite");
    return {value, ""};
  }
  static Number Missing(std::string reason) { return {std::nullopt, std::move(reason)}; }
};

/// An effective setting. `origin`: "flag", "file" or "default".
struct Setting {
  std::string name;
  std::string value_json;
  std::string origin;
};

/// How a metric is aggregated is told by the name the reference uses: mean, perplexity, ...
struct MetricRecord {
  std::string name;
  std::string filter = "none";
  std::string aggregation;
  bool higher_is_better = true;
  Number value;
  Number standard_error;
  Number low, high;             ///< 95 % interval
  std::string interval_method;  ///< "wilson" of right-or-wrong documents, else "normal"; "": none
  int64_t n = 0;                ///< documents that carry the metric
};

/// Counts over the requests of a task.
struct RequestCounts {
  int64_t requests = 0;
  int64_t context_tokens = 0;
  int64_t output_tokens = 0;
  int64_t truncated_requests = 0;
  int64_t truncated_tokens = 0;
  int64_t skipped_documents = 0;  ///< too long, and the policy was to skip
  int64_t failed_documents = 0;   ///< a request of it failed for good
};

/// A layer whose heads give each chunk of 64 tokens to softmax or to linear attention (NAtS-L).
struct NatsLayerRecord {
  int64_t layer = 0, heads = 0;
};

/// What such layers chose in the sequences of a task or a run. Every sequence counts whole, also
/// what it shares with others: the figures don't depend on how it was computed.
struct SoftmaxUse {
  struct Layer {
    int64_t layer = 0;
    std::vector<int64_t> softmax_chunks;  ///< [heads]
  };
  int64_t chunks = 0;              ///< completed: what each head chose for
  std::vector<Layer> layers = {};  ///< empty: there are none, or nothing is told of them
  std::string reason = {};         ///< why nothing is told; "": something is

  /// Whether the model has such layers.
  bool known() const { return !layers.empty() || !reason.empty(); }
};

/// The ids that the model reads for a task's first request.
struct FirstRequest {
  int64_t ids = 0;                   ///< how many; 0 where the model has none
  std::vector<int32_t> first, last;  ///< up to 8
};

struct TaskRecord {
  std::string name, summary, dataset, split, protocol, output_type, licence, few_shot;
  std::string version_json = "null";  ///< the protocol's task version: 1.0, 3
  int64_t num_fewshot = 0;
  int64_t documents = 0;  ///< of the split
  int64_t evaluated = 0;  ///< of them in this run
  std::string subset;     ///< "" all; otherwise how they were chosen
  std::string data_sha256;
  std::string prompts_sha256;  ///< over the requests in order, as the model is asked
  std::string hash;            ///< over all samples' document, prompt and target hashes
  FirstRequest first_request;
  std::vector<MetricRecord> metrics;
  RequestCounts counts;
  SoftmaxUse softmax;
  std::vector<std::string> deviations;
  std::vector<std::string> warnings;
};

/// A group with one value over its tasks.
struct GroupRecord {
  std::string name;
  std::vector<std::string> tasks;
  bool aggregate = false;
  int64_t evaluated = 0;
  std::vector<MetricRecord> metrics;
};

struct ModelRecord {
  std::string name, family, weights_fingerprint, tokenizer_fingerprint, dtype, device;
  int64_t max_length = 0;
  int64_t vocabulary = 0;
  int64_t parameters = 0;
  std::vector<NatsLayerRecord> nats_layers;
  std::vector<std::pair<std::string, std::string>> settings;
};

struct RunRecord {
  std::string program_version;
  std::vector<std::pair<std::string, std::string>> versions;  ///< of what the program is built of
  ModelRecord model;
  SoftmaxUse softmax;             ///< of all tasks
  std::vector<Setting> settings;  ///< those that can change a result
  std::vector<TaskRecord> tasks;  ///< in the order they were asked for
  std::vector<GroupRecord> groups;
  std::vector<std::string> warnings;
};

/// One request of a sample and its answer.
struct RequestRecord {
  std::string context;                ///< lm-evaluation-harness's arg_0
  std::string argument_json;          ///< its arg_1 as JSON text; "": none
  std::vector<std::string> response;  ///< as Python's str writes it: {"-1.875", "False"}
  std::string finish;                 ///< eos, stop, length; "" where nothing is generated
  int64_t context_tokens = 0, output_tokens = 0, truncated_tokens = 0;
};

struct SampleMetricRecord {
  std::string name;
  std::vector<double> values;
};

/// A document's row under one filter.
struct SampleRecord {
  int64_t doc_id = 0;
  std::string id;
  std::string doc_json;
  std::string target;
  std::vector<RequestRecord> requests;
  std::string filter = "none";
  std::vector<std::string> filtered;  ///< one a request; empty: the responses as they are
  std::vector<SampleMetricRecord> metrics;
  std::string extra_json;  ///< further keys; "": none
  std::string not_scored;  ///< why there are no metrics; "": there are
  bool wrong = true;       ///< false: the task's first accuracy-like metric is full
  std::string doc_hash, prompt_hash, target_hash;  ///< SHA-256, as the reference computes them
};

/// What differs between two runs that give the same results: kept in a file of its own.
struct ExecutionRecord {
  struct Phase {
    std::string name;
    int64_t ns = 0;
  };
  struct TaskShare {
    std::string task;
    int64_t requests = 0, cached = 0, resumed = 0;
  };
  std::string started_utc;
  std::vector<Phase> phases;
  std::vector<TaskShare> tasks;
  int64_t batches = 0;
  int64_t computed_tokens = 0;
  int processes = 1;
  int threads = 0;
  std::string host;
};

}  // namespace natsl::reports
