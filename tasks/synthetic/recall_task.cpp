// The tasks mqar and phonebook over their generators.
#include <functional>

#include "core/cast.h"
#include "core/error.h"
#include "core/json.h"
#include "core/threads.h"
#include "core/utf8.h"
#include "tasks/few_shot.h"
#include "tasks/length_search.h"
#include "tasks/parameters.h"
#include "tasks/synthetic/recall.h"

namespace natsl::tasks::synthetic {
namespace {

constexpr int64_t kSamples = 200;

TaskCard BaseCard() {
  TaskCard card;
  card.dataset = "generated";
  card.split = "generated";
  card.version = "1";
  card.licence = "own generator";
  card.few_shot = "none";
  return card;
}

TaskCard MqarCard() {
  TaskCard card = BaseCard();
  card.name = "mqar";
  card.summary = "multi-query associative recall: key-value pairs, then several queries";
  card.protocol = "natsl-bench (after Arora et al. 2023, as text)";
  card.output_type = "loglikelihood";
  card.metrics = {{"acc", "none", Aggregation::kMean, true, 1},
                  {"all_correct", "none", Aggregation::kMean, true, 1},
                  {"answer_log_prob", "none", Aggregation::kMean, true, 1}};
  card.deviations = {
      "pairs are text (two letters, two digits), not single tokens of a vocabulary",
      "with pairs alone, queries follow each other directly; with pairs and length they are spread "
      "over the rest by a power law (1 / place) as in the original, with filler between"};
  return card;
}

TaskCard PhonebookCard() {
  TaskCard card = BaseCard();
  card.name = "phonebook";
  card.summary = "phonebook lookup: names and numbers, two example look-ups, then one to answer";
  card.protocol = "natsl-bench (after Jelassi et al. 2024)";
  card.output_type = "generate_until";
  card.metrics = {{"exact_match", "none", Aggregation::kMean, true, 1}};
  card.deviations = {"names are drawn from our own lists of 48 first and 48 last names"};
  return card;
}

/// Makes a document of some size ("pairs", "entries", ...) and what of it is counted.
template <typename Document>
struct DocumentKind {
  int64_t least = 1, most = 1;  ///< sizes
  std::function<Document(int64_t, core::PythonRandom&)> make;
  std::function<std::string(const Document&)> text;
};

/// Documents of at most `length` tokens, each as large as fits. Made and counted on all cores;
/// draws begin where they would if all documents had the first one's size.
template <typename Document>
std::vector<Document> FitDocuments(const std::string& task, int64_t length, int64_t samples,
                                   core::PythonRandom& random,
                                   const std::function<int64_t(const std::string&)>& count_tokens,
                                   const DocumentKind<Document>& kind) {
  if (!count_tokens) {
    throw UsageError(
        "task {}: \"length\" needs a model that can count tokens; give the number of pairs or "
        "entries instead",
        task);
  }
  const auto fit = [&](const core::PythonRandom& start, int64_t guess) {
    const auto found = FindLength({.target = length,
                                   .guess = guess,
                                   .least = kind.least,
                                   .most = kind.most,
                                   .close_enough = 0.999},
                                  [&](int64_t size) -> std::optional<int64_t> {
                                    core::PythonRandom trial = start;
                                    return count_tokens(kind.text(kind.make(size, trial)));
                                  });
    if (!found) {
      throw UsageError("task {}: length {} is too short, {} items don't fit", task, length,
                       kind.least);
    }
    return found->size;
  };
  const int64_t size = fit(random, std::min(kind.most, std::max(kind.least, length / 8)));
  std::vector<core::PythonRandom> starts;
  for (int64_t i = 0; i < samples; ++i) {
    starts.push_back(random);
    kind.make(size, random);
  }
  std::vector<Document> documents(static_cast<size_t>(samples));
  core::ParallelFor(samples, 0, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      core::PythonRandom draws = starts[static_cast<size_t>(i)];
      const int64_t fitting = fit(draws, size);
      documents[static_cast<size_t>(i)] = kind.make(fitting, draws);
    }
  });
  return documents;
}

class MqarTask final : public Task {
 public:
  explicit MqarTask(const TaskOptions& options) {
    RefuseFewShot(card_.name, options.few_shot);
    const Parameters parameters(card_.name, options, {"pairs", "queries", "samples", "length"});
    const auto given_pairs = parameters.Count("pairs");
    const int64_t pairs = given_pairs.value_or(64);
    const int64_t queries = parameters.Count("queries").value_or(std::min<int64_t>(8, pairs));
    const int64_t samples = parameters.Count("samples").value_or(kSamples);
    const int64_t wanted = std::min(samples, options.limit.value_or(samples));
    const auto length = parameters.Count("length");
    core::PythonRandom random(options.seed);
    if (length) {
      DocumentKind<AssociativeRecall> kind;
      kind.text = [queries](const AssociativeRecall& recall) {
        return Context(recall, queries - 1) + " " + recall.queries.back().value;
      };
      if (given_pairs) {
        kind.least = 0;
        kind.most = *length;
        kind.make = [=](int64_t filler, core::PythonRandom& draws) {
          return MakeAssociativeRecall(pairs, queries, draws, filler);
        };
      } else {
        kind.least = queries;
        kind.most = 26 * 26 * 26;
        kind.make = [=](int64_t n, core::PythonRandom& draws) {
          return MakeAssociativeRecall(n, queries, draws);
        };
      }
      documents_ = FitDocuments(card_.name, *length, wanted, random, options.count_tokens, kind);
    }
    while (core::Size(documents_) < wanted) {
      documents_.push_back(MakeAssociativeRecall(pairs, queries, random));
    }
    settings_ =
        fmt::format("mqar 1 seed {} pairs {} queries {} samples {} length {}", options.seed,
                    length && !given_pairs ? 0 : pairs, queries, samples, length.value_or(0));
  }

  const TaskCard& Card() const override { return card_; }
  int64_t DocumentCount() const override { return core::Size(documents_); }
  std::string DataFingerprint() const override { return settings_; }

  DocumentRequests Requests(int64_t index) const override {
    const AssociativeRecall& recall = documents_[static_cast<size_t>(index)];
    DocumentRequests out;
    out.doc_id = index;
    out.id = fmt::format("{}", index);
    core::Json doc;
    doc["pairs"] = recall.pairs;
    core::Json answers = core::Json::array();
    for (size_t q = 0; q < recall.queries.size(); ++q) {
      out.requests.push_back(LoglikelihoodRequest{Context(recall, static_cast<int64_t>(q)),
                                                  " " + recall.queries[q].value});
      doc["queries"].push_back(recall.queries[q].key);
      answers.push_back(recall.queries[q].value);
    }
    out.doc = core::PythonJson(doc);
    out.target = core::PythonJson(answers);
    return out;
  }

  SampleScore Score(int64_t, std::span<const Response> responses) const override {
    double correct = 0, log_prob = 0;
    for (const Response& response : responses) {
      const auto& result = std::get<LoglikelihoodResult>(response);
      correct += result.is_greedy;
      log_prob += result.log_prob;
    }
    const auto n = static_cast<double>(responses.size());
    SampleScore score;
    score.metrics = {{"acc", "none", {correct / n}},
                     {"all_correct", "none", {correct == n ? 1.0 : 0.0}},
                     {"answer_log_prob", "none", {log_prob / n}}};
    return score;
  }

 private:
  static std::string Context(const AssociativeRecall& recall, int64_t query) {
    std::string text = recall.pairs + "\n";
    for (int64_t q = 0; q < query; ++q) {
      const AssociativeRecall::Query& earlier = recall.queries[static_cast<size_t>(q)];
      text += fmt::format("{}{} {} ", earlier.filler, earlier.key, earlier.value);
    }
    const AssociativeRecall::Query& asked = recall.queries[static_cast<size_t>(query)];
    return text + asked.filler + asked.key;
  }

  TaskCard card_ = MqarCard();
  std::vector<AssociativeRecall> documents_;
  std::string settings_;
};

class PhonebookTask final : public Task {
 public:
  explicit PhonebookTask(const TaskOptions& options) {
    RefuseFewShot(card_.name, options.few_shot);
    const Parameters parameters(card_.name, options, {"entries", "samples", "length"});
    const auto given_entries = parameters.Count("entries", 3);
    const int64_t entries = given_entries.value_or(50);
    const int64_t samples = parameters.Count("samples").value_or(kSamples);
    const int64_t wanted = std::min(samples, options.limit.value_or(samples));
    const auto length = parameters.Count("length");
    if (length && given_entries) {
      throw UsageError("task {}: length and entries both set the size of the book, give one",
                       card_.name);
    }
    core::PythonRandom random(options.seed);
    if (length) {
      DocumentKind<Phonebook> kind;
      kind.least = 3;
      kind.most = 10000;
      kind.make = MakePhonebook;
      kind.text = [](const Phonebook& book) { return book.prompt; };
      documents_ = FitDocuments(card_.name, *length - kAnswerTokens, wanted, random,
                                options.count_tokens, kind);
    }
    while (core::Size(documents_) < wanted) documents_.push_back(MakePhonebook(entries, random));
    settings_ = fmt::format("phonebook 1 seed {} entries {} samples {} length {}", options.seed,
                            entries, samples, length.value_or(0));
  }

  const TaskCard& Card() const override { return card_; }
  int64_t DocumentCount() const override { return core::Size(documents_); }
  std::string DataFingerprint() const override { return settings_; }

  DocumentRequests Requests(int64_t index) const override {
    const Phonebook& book = documents_[static_cast<size_t>(index)];
    DocumentRequests out;
    out.doc_id = index;
    out.id = fmt::format("{}", index);
    core::Json doc;
    doc["prompt"] = book.prompt;
    doc["number"] = book.number;
    out.doc = core::PythonJson(doc);
    out.target = book.number;
    GenerateRequest request;
    request.prompt = book.prompt;
    request.stop = {"\n"};
    request.max_new_tokens = kAnswerTokens;
    out.requests.push_back(std::move(request));
    return out;
  }

  SampleScore Score(int64_t index, std::span<const Response> responses) const override {
    const std::string& text = std::get<GenerateResult>(responses[0]).text;
    const bool right = core::PythonStrip(text) == documents_[static_cast<size_t>(index)].number;
    SampleScore score;
    score.metrics = {{"exact_match", "none", {right ? 1.0 : 0.0}}};
    return score;
  }

 private:
  static constexpr int64_t kAnswerTokens = 16;
  TaskCard card_ = PhonebookCard();
  std::vector<Phonebook> documents_;
  std::string settings_;
};

}  // namespace

std::vector<TaskEntry> SyntheticTasks() {
  return {{"mqar",
           MqarCard,
           [](const DataSource&, const TaskOptions& options) -> std::unique_ptr<Task> {
             return std::make_unique<MqarTask>(options);
           },
           {"length", "pairs", "queries", "samples"}},
          {"phonebook",
           PhonebookCard,
           [](const DataSource&, const TaskOptions& options) -> std::unique_ptr<Task> {
             return std::make_unique<PhonebookTask>(options);
           },
           {"length", "entries", "samples"}}};
}

}  // namespace natsl::tasks::synthetic
