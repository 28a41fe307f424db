#include "evaluators/score.h"

#include <algorithm>
#include <cmath>

#include "core/cast.h"
#include "core/error.h"
#include "core/hash.h"
#include "core/json.h"
#include "core/threads.h"
#include "evaluators/aggregate.h"

namespace natsl::evaluators {
namespace {

using core::Json;

/// Rows scored before they go to the sink: bounds memory, keeps all threads busy.
constexpr int64_t kChunk = 512;

const model_adapters::ResultBase& Base(const tasks::Response& response) {
  return std::visit([](const auto& result) -> const model_adapters::ResultBase& { return result; },
                    response);
}

/// Python's str of a float.
std::string PythonStr(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return core::PythonJson(Json(value));
}

reports::RequestRecord ToRecord(const tasks::Request& request, const tasks::Response& response) {
  reports::RequestRecord record;
  const model_adapters::ResultBase& base = Base(response);
  record.context_tokens = base.context_tokens;
  record.output_tokens = base.output_tokens;
  record.truncated_tokens = base.truncated_tokens;
  if (const auto* pair = std::get_if<tasks::LoglikelihoodRequest>(&request)) {
    const auto& result = std::get<tasks::LoglikelihoodResult>(response);
    record.context = pair->context;
    record.argument_json = core::PythonJson(Json(pair->continuation));
    record.response = {PythonStr(result.log_prob), result.is_greedy ? "True" : "False"};
  } else if (const auto* rolling = std::get_if<tasks::RollingRequest>(&request)) {
    record.context = rolling->text;
    record.response = {PythonStr(std::get<tasks::RollingResult>(response).log_prob)};
  } else {
    const auto& generate = std::get<tasks::GenerateRequest>(request);
    const auto& result = std::get<tasks::GenerateResult>(response);
    record.context = generate.prompt;
    record.argument_json = GenerationArguments(generate);
    record.response = {result.text};
    record.finish = Name(result.finish);
  }
  return record;
}

/// A document with its answers and score.
struct ScoredDocument {
  tasks::DocumentRequests document;
  std::vector<tasks::Response> responses;
  tasks::SampleScore score;
  std::string not_scored;
  bool skipped = false;
};

ScoredDocument ScoreDocument(const SelectedTask& selected, int64_t index,
                             const std::vector<RequestSlot>& slots, const Answers& answers) {
  ScoredDocument scored;
  scored.document = selected.task->Requests(index);
  scored.responses.reserve(slots.size());
  for (const RequestSlot& slot : slots) {
    scored.responses.push_back(answers.At(slot));
    const model_adapters::ResultBase& base = Base(scored.responses.back());
    const size_t number = scored.responses.size() - 1;
    if (base.error) {
      scored.not_scored = fmt::format("request {} failed: {}", number, *base.error);
    } else if (base.skipped && scored.not_scored.empty()) {
      scored.skipped = true;
      scored.not_scored = base.truncated_tokens > 0
                              ? fmt::format("request {} is too long for the model by {} tokens",
                                            number, base.truncated_tokens)
                              : fmt::format("request {} is too short for one window", number);
    }
  }
  if (scored.not_scored.empty()) scored.score = selected.task->Score(index, scored.responses);
  return scored;
}

/// The metric that tells right from wrong: the first whose documents score up to 1.
const tasks::MetricCard* Primary(const tasks::TaskCard& card) {
  for (const tasks::MetricCard& metric : card.metrics) {
    if (metric.higher_is_better) return &metric;
  }
  return nullptr;
}

std::vector<std::string> Filters(const tasks::TaskCard& card) {
  std::vector<std::string> filters;
  for (const tasks::MetricCard& metric : card.metrics) {
    if (std::find(filters.begin(), filters.end(), metric.filter) == filters.end()) {
      filters.push_back(metric.filter);
    }
  }
  return filters;
}

reports::SampleRecord ToSample(const ScoredDocument& scored, const tasks::TaskCard& card,
                               const std::vector<std::string>& filters, size_t filter) {
  reports::SampleRecord sample;
  sample.doc_id = scored.document.doc_id;
  sample.id = scored.document.id;
  sample.doc_json = scored.document.doc;
  sample.target = scored.document.target;
  sample.filter = filters[filter];
  sample.not_scored = scored.not_scored;
  sample.extra_json = scored.score.extra_json;
  for (size_t i = 0; i < scored.responses.size(); ++i) {
    sample.requests.push_back(ToRecord(scored.document.requests[i], scored.responses[i]));
  }
  if (filters.size() == 1) {
    sample.filtered = scored.score.filtered;
  } else if (filter < scored.score.filtered.size()) {
    sample.filtered = {scored.score.filtered[filter]};
  }
  const tasks::MetricCard* primary = Primary(card);
  for (const tasks::SampleMetric& metric : scored.score.metrics) {
    if (metric.filter != sample.filter || metric.values.empty()) continue;
    sample.metrics.push_back({metric.name, metric.values});
    if (primary != nullptr && metric.name == primary->name && metric.values[0] >= 1) {
      sample.wrong = false;
    }
  }
  const Json doc =
      core::ParseJson(sample.doc_json, "document", ErrorCode::kInternal, {.python_numbers = true});
  sample.doc_hash = core::Sha256Hex(core::PythonJson(doc, 2));
  sample.prompt_hash =
      core::Sha256Hex(sample.requests.empty() ? "" : sample.requests.front().context);
  sample.target_hash = core::Sha256Hex(sample.target);
  return sample;
}

void Count(const ScoredDocument& scored, reports::RequestCounts& counts) {
  for (const tasks::Response& response : scored.responses) {
    const model_adapters::ResultBase& base = Base(response);
    ++counts.requests;
    counts.context_tokens += base.context_tokens;
    counts.output_tokens += base.output_tokens;
    counts.truncated_tokens += base.truncated_tokens;
    if (base.truncated_tokens > 0) ++counts.truncated_requests;
  }
  if (!scored.not_scored.empty()) {
    ++(scored.skipped ? counts.skipped_documents : counts.failed_documents);
  }
}

void AddWarnings(reports::TaskRecord& record) {
  const reports::RequestCounts& counts = record.counts;
  if (counts.failed_documents > 0) {
    record.warnings.push_back(
        fmt::format("{} of {} documents have no score because a request failed",
                    counts.failed_documents, record.evaluated));
  }
  if (counts.skipped_documents > 0) {
    record.warnings.push_back(fmt::format(
        "{} of {} documents were skipped because they are {}", counts.skipped_documents,
        record.evaluated,
        counts.truncated_requests > 0 ? "too long for the model" : "too short for one window"));
  }
  if (counts.truncated_requests > 0) {
    record.warnings.push_back(fmt::format("{} of {} requests were truncated ({} tokens cut in all)",
                                          counts.truncated_requests, counts.requests,
                                          counts.truncated_tokens));
  }
}

reports::TaskRecord Describe(const SelectedTask& selected) {
  const tasks::TaskCard& card = selected.task->Card();
  reports::TaskRecord record;
  record.name = selected.name;
  record.summary = card.summary;
  record.dataset = card.dataset;
  record.split = card.split;
  record.protocol = card.protocol;
  record.output_type = card.output_type;
  record.licence = card.licence;
  record.few_shot = card.few_shot;
  if (!card.version.empty()) record.version_json = card.version;
  record.num_fewshot = selected.num_fewshot;
  record.documents = selected.task->DocumentCount();
  record.evaluated = core::Size(selected.documents);
  record.subset = selected.subset;
  record.data_sha256 = selected.task->DataFingerprint();
  const std::vector<int32_t>& ids = selected.first_request_ids;
  const auto shown = static_cast<std::ptrdiff_t>(std::min<size_t>(8, ids.size()));
  record.first_request = {
      core::Size(ids), {ids.begin(), ids.begin() + shown}, {ids.end() - shown, ids.end()}};
  record.deviations = card.deviations;
  record.warnings = selected.task->Warnings();
  return record;
}

}  // namespace

std::string GenerationArguments(const tasks::GenerateRequest& request) {
  Json json;
  json["until"] = request.stop;
  json["do_sample"] = request.sampling.temperature > 0;
  json["temperature"] = request.sampling.temperature;
  if (request.sampling.temperature > 0) {
    json["top_k"] = request.sampling.top_k;
    json["top_p"] = request.sampling.top_p;
    json["seed"] = request.sampling.seed;
  }
  json["max_gen_toks"] = request.max_new_tokens;
  if (request.middle_truncate_to) json["middle_truncate_to"] = *request.middle_truncate_to;
  return core::PythonJson(json);
}

reports::TaskRecord ScoreTask(const SelectedTask& selected,
                              const std::vector<std::vector<RequestSlot>>& slots,
                              const Answers& answers, int threads, const SampleSink& sink) {
  const tasks::TaskCard& card = selected.task->Card();
  const std::vector<std::string> filters = Filters(card);
  reports::TaskRecord record = Describe(selected);
  std::vector<std::vector<std::vector<double>>> values(card.metrics.size());
  core::Sha256 hash;
  const int64_t count = core::Size(selected.documents);
  for (size_t filter = 0; filter < filters.size(); ++filter) {
    for (int64_t first = 0; first < count; first += kChunk) {
      const int64_t size = std::min(kChunk, count - first);
      std::vector<ScoredDocument> chunk(static_cast<size_t>(size));
      std::vector<reports::SampleRecord> samples(static_cast<size_t>(size));
      core::ParallelFor(size, threads, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const auto document = static_cast<size_t>(first + i);
          const auto at = static_cast<size_t>(i);
          InContext("task " + selected.name, [&] {
            chunk[at] =
                ScoreDocument(selected, selected.documents[document], slots[document], answers);
            samples[at] = ToSample(chunk[at], card, filters, filter);
          });
        }
      });
      for (size_t i = 0; i < chunk.size(); ++i) {
        if (filter == 0) Count(chunk[i], record.counts);
        for (size_t m = 0; m < card.metrics.size(); ++m) {
          if (card.metrics[m].filter != filters[filter]) continue;
          for (const reports::SampleMetricRecord& metric : samples[i].metrics) {
            if (metric.name == card.metrics[m].name) values[m].push_back(metric.values);
          }
        }
        hash.Update(samples[i].doc_hash + samples[i].prompt_hash + samples[i].target_hash);
        sink(samples[i]);
      }
    }
  }
  for (size_t m = 0; m < card.metrics.size(); ++m) {
    record.metrics.push_back(Aggregate(card.metrics[m], values[m], threads));
  }
  record.hash = hash.Hex();
  AddWarnings(record);
  return record;
}

}  // namespace natsl::evaluators
