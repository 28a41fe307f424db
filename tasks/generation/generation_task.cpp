// Requests and scores of generation tasks.
#include "tasks/generation/generation_task.h"

#include <utility>

#include "core/cast.h"
#include "core/check.h"
#include "core/json.h"
#include "core/threads.h"
#include "core/utf8.h"

namespace natsl::tasks {
namespace {

std::vector<GenerationDocument> Render(const GenerationSpec& spec,
                                       const std::vector<Record>& records) {
  std::vector<GenerationDocument> rendered(records.size());
  core::ParallelFor(core::Size(records), 0, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const Record& record = records[static_cast<size_t>(i)];
      const core::JsonObject object(*record.value, record.where, ErrorCode::kData);
      rendered[static_cast<size_t>(i)] = spec.render(object);
    }
  });
  return rendered;
}

class GenerationTask final : public Task {
 public:
  GenerationTask(const GenerationSpec& spec, const DataSource& data, const TaskOptions& options)
      : spec_(spec), set_(LoadDocuments(spec.card.name, data, spec.layout, options)) {
    documents_ = Render(spec_, set_.documents);
    pool_ = Render(spec_, set_.pool);
    if (spec_.warn) {
      for (std::string& warning : spec_.warn(documents_)) set_.warnings.push_back(warning);
    }
  }

  const TaskCard& Card() const override { return spec_.card; }
  int64_t DocumentCount() const override { return core::Size(documents_); }
  std::string DataFingerprint() const override { return set_.fingerprint; }
  std::vector<std::string> Warnings() const override { return set_.warnings; }

  DocumentRequests Requests(int64_t index) const override {
    const auto at = static_cast<size_t>(index);
    const GenerationDocument& document = documents_[at];
    DocumentRequests out;
    out.doc_id = index;
    out.id = set_.ids[at];
    out.doc = core::PythonJson(*set_.documents[at].value);
    out.target = document.target;
    std::string prompt = spec_.description;
    for (const int32_t example : set_.examples[at]) {
      const GenerationDocument& shown = pool_[static_cast<size_t>(example)];
      prompt += shown.context + spec_.target_delimiter + shown.shown + spec_.example_delimiter;
    }
    prompt += document.context;
    GenerateRequest generate;
    generate.prompt = prompt;
    generate.stop = spec_.stop;
    generate.max_new_tokens = spec_.max_new_tokens;
    out.requests.emplace_back(std::move(generate));
    if (!spec_.also_scores.empty()) {
      out.requests.emplace_back(LoglikelihoodRequest{std::move(prompt), spec_.also_scores});
    }
    return out;
  }

  SampleScore Score(int64_t index, std::span<const Response> responses) const override {
    NATSL_CHECK(responses.size() == (spec_.also_scores.empty() ? 1 : 2));
    SampleScore score;
    std::string response = std::get<GenerateResult>(responses[0]).text;
    if (spec_.strips_response) response = core::PythonStrip(response);
    const double log_prob =
        responses.size() > 1 ? std::get<LoglikelihoodResult>(responses[1]).log_prob : 0;
    score.metrics = spec_.score(documents_[static_cast<size_t>(index)], response, log_prob);
    score.filtered = {std::move(response)};
    return score;
  }

 private:
  GenerationSpec spec_;
  DocumentSet set_;
  std::vector<GenerationDocument> documents_;
  std::vector<GenerationDocument> pool_;
};

}  // namespace

std::unique_ptr<Task> LoadGeneration(const GenerationSpec& spec, const DataSource& data,
                                     const TaskOptions& options) {
  return std::make_unique<GenerationTask>(spec, data, options);
}

TaskEntry GenerationEntry(GenerationSpec (*spec)()) {
  return {
      .name = spec().card.name,
      .card = [spec] { return spec().card; },
      .load = [spec](const DataSource& data,
                     const TaskOptions& options) { return LoadGeneration(spec(), data, options); }};
}

RecordSet ExpandRecords(
    RecordSet set, const std::function<std::vector<core::Json>(const core::JsonObject&)>& expand) {
  std::vector<Record> records;
  for (const Record& record : set.records) {
    const core::JsonObject object(*record.value, record.where, ErrorCode::kData);
    std::vector<core::Json> made = expand(object);
    const bool one = made.size() == 1;
    for (size_t i = 0; i < made.size(); ++i) {
      records.push_back({std::make_shared<core::Json>(std::move(made[i])),
                         one ? record.where : fmt::format("{}: question {}", record.where, i)});
    }
  }
  if (records.empty() && !set.records.empty()) {
    throw DataError("{}: no questions, expected at least one", set.records.front().where);
  }
  set.records = std::move(records);
  return set;
}

const core::Json& ListField(const core::JsonObject& object, const char* name) {
  const core::Json& value = object.At(name);
  if (!value.is_array()) throw object.Wrong(name, "a list");
  return value;
}

}  // namespace natsl::tasks
