// LAMBADA: the last word of a passage. `_openai`: the raw text; `_standard`: the tokenised
// original.
#include "core/cast.h"
#include "core/check.h"
#include "core/json.h"
#include "tasks/document_set.h"
#include "tasks/language_modeling/tasks.h"

namespace natsl::tasks {
namespace {

/// Context and target: split at the last single space, which goes to the target.
struct Passage {
  std::string context;
  std::string target;
};

Passage Split(const Record& record) {
  const core::JsonObject object(*record.value, record.where, ErrorCode::kData);
  const std::string text = object.String("text");
  if (text.empty()) throw object.Wrong("text", "a passage of at least one word");
  const size_t space = text.rfind(' ');
  if (space == std::string::npos) return {"", ' ' + text};
  return {text.substr(0, space), text.substr(space)};
}

class LambadaTask final : public Task {
 public:
  LambadaTask(TaskCard card, const DatasetLayout& layout, const DataSource& data,
              const TaskOptions& options)
      : card_(std::move(card)), set_(LoadDocuments(card_.name, data, layout, options)) {
    for (const Record& record : set_.documents) documents_.push_back(Split(record));
    for (const Record& record : set_.pool) pool_.push_back(Split(record));
  }

  const TaskCard& Card() const override { return card_; }
  int64_t DocumentCount() const override { return core::Size(documents_); }
  std::string DataFingerprint() const override { return set_.fingerprint; }
  std::vector<std::string> Warnings() const override { return set_.warnings; }

  DocumentRequests Requests(int64_t index) const override {
    const auto at = static_cast<size_t>(index);
    DocumentRequests out;
    out.doc_id = index;
    out.id = set_.ids[at];
    out.doc = core::PythonJson(*set_.documents[at].value);
    out.target = documents_[at].target;
    LoglikelihoodRequest request;
    for (const int32_t example : set_.examples[at]) {
      const Passage& shown = pool_[static_cast<size_t>(example)];
      // The protocol puts its delimiter before a target that brings its own space.
      request.context += shown.context + ' ' + shown.target + "\n\n";
    }
    request.context += documents_[at].context;
    request.continuation = documents_[at].target;
    out.requests.emplace_back(std::move(request));
    return out;
  }

  SampleScore Score(int64_t /*index*/, std::span<const Response> responses) const override {
    NATSL_CHECK(responses.size() == 1);
    const auto& result = std::get<LoglikelihoodResult>(responses[0]);
    SampleScore score;
    score.metrics.push_back({"perplexity", "none", {result.log_prob}});
    score.metrics.push_back({"acc", "none", {result.is_greedy ? 1.0 : 0.0}});
    return score;
  }

 private:
  TaskCard card_;
  DocumentSet set_;
  std::vector<Passage> documents_;
  std::vector<Passage> pool_;
};

TaskCard Card(std::string name, std::string summary, std::string dataset, std::string few_shot) {
  TaskCard card;
  card.name = std::move(name);
  card.summary = std::move(summary);
  card.dataset = std::move(dataset);
  card.split = "test";
  card.protocol = "lm-evaluation-harness 0.4.13";
  card.version = "1.0";
  card.output_type = "loglikelihood";
  card.licence = "CC BY 4.0 (LAMBADA)";
  card.few_shot = std::move(few_shot);
  card.metrics = {
      {.name = "perplexity", .aggregation = Aggregation::kPerplexity, .higher_is_better = false},
      {.name = "acc"}};
  return card;
}

TaskCard OpenAiCard() {
  return Card("lambada_openai", "last word of a passage, raw text; perplexity is per target word",
              "lambada_openai",
              "drawn from the evaluated split itself, so that a document may show its own answer "
              "(reported; --fewshot-exclude); two spaces before an example's last word");
}

TaskCard StandardCard() {
  return Card(
      "lambada_standard",
      "last word of a passage, tokenised lower-case original; perplexity is per target word",
      "lambada_standard", "validation split; two spaces before an example's last word");
}

DatasetLayout OpenAiLayout() {
  DatasetLayout layout;
  layout.dataset = "lambada_openai";
  layout.evaluated = {"test",
                      {"lambada/lambada_test.jsonl", "lambada_test.jsonl",
                       "lambada_openai/test.jsonl", "hub:EleutherAI/lambada_openai:default/test/*",
                       "hub:EleutherAI/lambada_openai:default/test*",
                       "hub:EleutherAI/lambada_openai:data/lambada_test.jsonl"}};
  layout.pools = {layout.evaluated};
  return layout;
}

DatasetLayout StandardLayout() {
  DatasetLayout layout;
  layout.dataset = "lambada_standard";
  layout.evaluated = {
      "test",
      {"lambada_standard/lambada_test_plain_text.txt",
       "lambada-dataset/lambada_test_plain_text.txt", "lambada/lambada_test_plain_text.txt",
       "lambada_standard/test.jsonl", "hub:cimec/lambada:plain_text/test*"}};
  layout.pools = {
      {"validation",
       {"lambada_standard/lambada_development_plain_text.txt",
        "lambada-dataset/lambada_development_plain_text.txt",
        "lambada/lambada_development_plain_text.txt", "lambada_standard/validation.jsonl",
        "hub:cimec/lambada:plain_text/validation*"}}};
  layout.read = [](const DataSource& data, const std::vector<std::filesystem::path>& files) {
    return files.size() == 1 && files.front().string().find(".txt") != std::string::npos
               ? ReadTextLines(data, files.front())
               : data.Read(files);
  };
  return layout;
}

}  // namespace

std::vector<TaskEntry> LambadaTasks() {
  return {{.name = "lambada_openai",
           .card = OpenAiCard,
           .load = [](const DataSource& data, const TaskOptions& options) -> std::unique_ptr<Task> {
             return std::make_unique<LambadaTask>(OpenAiCard(), OpenAiLayout(), data, options);
           }},
          {.name = "lambada_standard",
           .card = StandardCard,
           .load = [](const DataSource& data, const TaskOptions& options) -> std::unique_ptr<Task> {
             return std::make_unique<LambadaTask>(StandardCard(), StandardLayout(), data, options);
           }}};
}

}  // namespace natsl::tasks
