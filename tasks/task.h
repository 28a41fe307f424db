// The contract of a task: a card, documents, the requests of a document, and the score of its
// responses. Tasks know nothing of models or batching, and read files only through DataSource.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "model_adapters/language_model.h"

namespace natsl::tasks {

using model_adapters::GenerateRequest;
using model_adapters::GenerateResult;
using model_adapters::LoglikelihoodRequest;
using model_adapters::LoglikelihoodResult;
using model_adapters::RollingRequest;
using model_adapters::RollingResult;

using Request = std::variant<LoglikelihoodRequest, RollingRequest, GenerateRequest>;
using Response = std::variant<LoglikelihoodResult, RollingResult, GenerateResult>;

/// How the per-document values of a metric become one number, and its standard error
/// (formulas: specs/tasks.md, section 5).
enum class Aggregation {
  kMean,                ///< of one value; error: sample standard deviation / sqrt(n)
  kMeanWithoutError,    ///< the reference reports no error for it
  kPerplexity,          ///< exp(-mean of one value); error: bootstrap
  kWeightedPerplexity,  ///< values (log-prob, count): exp(-sum/sum)
  kBitsPerByte,         ///< values (log-prob, count): -sum/sum/ln 2
  kWeightedMean,        ///< values (sum, count): sum/sum
  kBestOverThresholds,  ///< SQuAD 2.0's best score over no-answer thresholds; values (score,
                        ///< answerable 0/1, says something 0/1, no-answer probability)
};

struct MetricCard {
  std::string name;             ///< "acc_norm"
  std::string filter = "none";  ///< results key is "name,filter"
  Aggregation aggregation = Aggregation::kMean;
  bool higher_is_better = true;
  double scale = 1;  ///< aggregate = scale x aggregation (squadv2: 100)
};

/// What a task is, for reports and docs. Every field is about the protocol followed.
struct TaskCard {
  std::string name;
  std::string summary;      ///< one line
  std::string dataset;      ///< manifest name
  std::string split;        ///< evaluated split
  std::string protocol;     ///< "lm-evaluation-harness 0.4.13", "RULER ...", ...
  std::string version;      ///< the protocol's task version as JSON text: "1.0", "3"
  std::string output_type;  ///< the reference's: multiple_choice, loglikelihood, ...
  std::string licence;      ///< of the data
  std::string few_shot;     ///< where examples come from and how they are drawn
  std::vector<MetricCard> metrics;
  std::vector<std::string> deviations;  ///< knowing differences to the protocol
};

/// One value, or several, of one metric for one document; empty where the metric doesn't apply.
struct SampleMetric {
  std::string name;
  std::string filter = "none";
  std::vector<double> values;
};

/// A document and what is asked of the model about it.
struct DocumentRequests {
  int64_t doc_id = 0;  ///< index in the evaluated split
  std::string id;      ///< stable across runs and limits: the dataset's own id, else doc_id
  std::string doc;     ///< the record as JSON text
  std::string target;  ///< as the reference logs it (str(target))
  std::vector<Request> requests;
};

struct SampleScore {
  std::vector<SampleMetric> metrics;
  /// Filtered responses by filter name, as strings (generation tasks); empty: responses as is.
  std::vector<std::string> filtered;
  /// Further keys for the sample's row as JSON text ("" none): predictions, achieved length, ...
  std::string extra_json;
};

/// A loaded task: documents are in memory, few-shot examples are drawn. Const use is thread safe.
class Task {
 public:
  virtual ~Task() = default;
  virtual const TaskCard& Card() const = 0;
  virtual int64_t DocumentCount() const = 0;  ///< at least 1
  virtual DocumentRequests Requests(int64_t index) const = 0;
  /// `responses` stand in the order of the document's requests; none of them failed or was skipped.
  virtual SampleScore Score(int64_t index, std::span<const Response> responses) const = 0;
  /// SHA-256 over the data files read (hex), for reports and comparability.
  virtual std::string DataFingerprint() const = 0;
  /// What the run should warn about: leaked few-shot documents, missing optional tables, ...
  virtual std::vector<std::string> Warnings() const { return {}; }
};

enum class FewShotSampler { kRandom, kFirstN };

struct FewShotOptions {
  std::optional<int64_t> count;  ///< nothing: the task's own default
  /// "" = the protocol's split; "first:N" = the file's first N records are the pool and the rest is
  /// evaluated; otherwise a file in the layout of the task's data.
  std::string from;
  FewShotSampler sampler = FewShotSampler::kRandom;
  uint64_t seed = 1234;
  bool exclude_evaluated = false;  ///< never show the evaluated document as an example
};

class DataSource;

/// All a factory gets. `parameters`: lengths, numbers of needles, ... of a task's own
/// (`ruler_niah_single_1@4096` style names are resolved to parameters by the registry).
struct TaskOptions {
  FewShotOptions few_shot;
  std::map<std::string, std::string> parameters;
  uint64_t seed = 42;            ///< of generated documents
  std::optional<int64_t> limit;  ///< a hint for generators: no more documents are needed
  /// Token counting for tasks that are built to a length, from any thread; may be empty.
  std::function<int64_t(const std::string&)> count_tokens;
};

}  // namespace natsl::tasks
