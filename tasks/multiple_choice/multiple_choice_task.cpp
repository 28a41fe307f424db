// Requests and scores of multiple-choice tasks.
#include "tasks/multiple_choice/multiple_choice_task.h"

#include "core/cast.h"
#include "core/check.h"
#include "core/json.h"
#include "core/threads.h"
#include "tasks/metrics/multiple_choice.h"

namespace natsl::tasks {
namespace {

const std::string& ContextOf(const Choices& document, size_t choice) {
  return document.contexts[document.contexts.size() == 1 ? 0 : choice];
}

class MultipleChoiceTask final : public Task {
 public:
  MultipleChoiceTask(const MultipleChoiceSpec& spec, const DataSource& data,
                     const TaskOptions& options)
      : card_(spec.card), set_(LoadDocuments(spec.card.name, data, spec.layout, options)) {
    documents_ = Render(spec, set_.documents);
    pool_ = Render(spec, set_.pool);
  }

  const TaskCard& Card() const override { return card_; }
  int64_t DocumentCount() const override { return core::Size(documents_); }
  std::string DataFingerprint() const override { return set_.fingerprint; }
  std::vector<std::string> Warnings() const override { return set_.warnings; }

  DocumentRequests Requests(int64_t index) const override {
    const auto at = static_cast<size_t>(index);
    const Choices& document = documents_[at];
    DocumentRequests out;
    out.doc_id = index;
    out.id = set_.ids[at];
    out.doc = core::PythonJson(*set_.documents[at].value);
    out.target = document.target;
    std::string examples;
    for (const int32_t example : set_.examples[at]) {
      const Choices& shown = pool_[static_cast<size_t>(example)];
      const auto gold = static_cast<size_t>(shown.gold);
      examples += ContextOf(shown, gold);
      examples += ' ';
      examples += shown.choices[gold];
      examples += "\n\n";
    }
    out.requests.reserve(document.choices.size());
    for (size_t i = 0; i < document.choices.size(); ++i) {
      LoglikelihoodRequest request;
      const std::string& context = ContextOf(document, i);
      request.context.reserve(examples.size() + context.size());
      request.context = examples;
      request.context += context;
      request.continuation.reserve(1 + document.choices[i].size());
      request.continuation = ' ';
      request.continuation += document.choices[i];
      out.requests.emplace_back(std::move(request));
    }
    return out;
  }

  SampleScore Score(int64_t index, std::span<const Response> responses) const override {
    const Choices& document = documents_[static_cast<size_t>(index)];
    NATSL_CHECK(responses.size() == document.choices.size());
    std::vector<double> log_probs;
    std::vector<bool> is_greedy;
    for (const Response& response : responses) {
      const auto& result = std::get<LoglikelihoodResult>(response);
      log_probs.push_back(result.log_prob);
      is_greedy.push_back(result.is_greedy);
    }
    const metrics::ChoiceScores scores = metrics::ScoreChoices(
        log_probs, is_greedy, document.choices, std::span<const int64_t>(&document.gold, 1));
    SampleScore score;
    for (const MetricCard& metric : card_.metrics) {
      const double value = metric.name == "acc_norm" ? scores.acc_norm : scores.acc;
      score.metrics.push_back({metric.name, metric.filter, {value}});
    }
    return score;
  }

 private:
  static std::vector<Choices> Render(const MultipleChoiceSpec& spec,
                                     const std::vector<Record>& records) {
    std::vector<Choices> rendered(records.size());
    core::ParallelFor(core::Size(records), 0, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const Record& record = records[static_cast<size_t>(i)];
        const core::JsonObject object(*record.value, record.where, ErrorCode::kData);
        Choices& document = rendered[static_cast<size_t>(i)];
        document = spec.render(object);
        if (document.choices.size() < 2) {
          throw DataError("{}: {} answers to choose from, expected at least 2", record.where,
                          document.choices.size());
        }
        NATSL_CHECK(document.gold >= 0 && document.gold < core::Size(document.choices));
      }
    });
    return rendered;
  }

  TaskCard card_;
  DocumentSet set_;
  std::vector<Choices> documents_;
  std::vector<Choices> pool_;
};

}  // namespace

TaskCard MultipleChoiceCard(std::string name, std::string summary, std::string dataset,
                            std::string split, std::string version, std::string licence,
                            std::string few_shot, bool with_acc_norm) {
  TaskCard card;
  card.name = std::move(name);
  card.summary = std::move(summary);
  card.dataset = std::move(dataset);
  card.split = std::move(split);
  card.protocol = "lm-evaluation-harness 0.4.13";
  card.version = std::move(version);
  card.output_type = "multiple_choice";
  card.licence = std::move(licence);
  card.few_shot = std::move(few_shot);
  card.metrics.push_back({.name = "acc"});
  if (with_acc_norm) card.metrics.push_back({.name = "acc_norm"});
  return card;
}

std::unique_ptr<Task> LoadMultipleChoice(const MultipleChoiceSpec& spec, const DataSource& data,
                                         const TaskOptions& options) {
  return std::make_unique<MultipleChoiceTask>(spec, data, options);
}

}  // namespace natsl::tasks
