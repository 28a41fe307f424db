// LongBench and LongBench-E.
#include "tasks/longbench/longbench_tasks.h"

#include <map>

#include "core/cast.h"
#include "core/json.h"
#include "tasks/few_shot.h"
#include "tasks/metrics/longbench.h"
#include "tasks/parameters.h"

namespace natsl::tasks::longbench {
namespace {

TaskCard MakeCard(const Dataset& dataset, bool e) {
  TaskCard card;
  card.name = fmt::format("longbench_{}{}", e ? "e_" : "", dataset.name);
  card.summary = fmt::format("LongBench{}: {}", e ? "-E" : "", dataset.name);
  card.dataset = "longbench";
  card.split = "test";
  card.protocol = "LongBench v1 (THUDM, 2e00731), base prompts, middle truncation";
  card.version = "1";
  card.output_type = "generate_until";
  card.licence = "mixed, by source; the hub page names none";
  card.few_shot = "none beyond what the data's contexts hold";
  card.metrics = {{"score", "none", Aggregation::kMean, true, 100}};
  if (e) {
    for (const char* bucket : {"0-4k", "4-8k", "8k+"}) {
      card.metrics.push_back(
          {fmt::format("score_{}", bucket), "none", Aggregation::kMean, true, 100});
    }
  }
  card.deviations = {
      "a prompt that would not fit the model beside its answer is cut further in its middle; the "
      "reference may exceed the limit by a few tokens"};
  if (dataset.name == "samsum") {
    card.deviations.emplace_back(
        "generation runs to its length; the reference stops at the first newline after one token, "
        "which scores the same line");
  }
  return card;
}

class LongBenchTask final : public Task {
 public:
  LongBenchTask(const Dataset& dataset, bool e, const DataSource& data, const TaskOptions& options)
      : card_(MakeCard(dataset, e)),
        dataset_(dataset),
        e_(e),
        metric_(metrics::LongBenchMetricOf(dataset.name)) {
    RefuseFewShot(card_.name, options.few_shot);
    const Parameters parameters(card_.name, options, {"max_length"});
    max_length_ = parameters.Count("max_length", 2);
    // Without its tables a Chinese metric says so before anything is run.
    if (metrics::NeedsSegmenter(metric_)) metrics::DefaultSegmenter();
    const std::string set = fmt::format("{}{}", dataset.name, e ? "_e" : ""), file = set + ".jsonl";
    set_ = data.Read(data.RequireAll(
        "longbench",
        {"longbench/" + file, "LongBench/" + file, "longbench/data/" + file,
         "hub:THUDM/LongBench:data/" + file, "hub:THUDM/LongBench:" + set + "/test*",
         "hub:zai-org/LongBench:" + set + "/test*", "hub:Xnhyacinth/LongBench:" + set + "/test*"}));
    records_.reserve(set_.records.size());
    std::map<std::string, const Record*> seen;
    for (const Record& record : set_.records) {
      records_.push_back(Parse(record));
      const std::string& id = records_.back().id;
      if (id.empty()) continue;
      const auto [first, is_new] = seen.emplace(id, &record);
      if (!is_new) {
        throw DataError("{}: \"_id\" is \"{}\", which {} has already; expected each id once",
                        record.where, id, first->second->where);
      }
    }
  }

  const TaskCard& Card() const override { return card_; }
  int64_t DocumentCount() const override { return core::Size(records_); }
  std::string DataFingerprint() const override { return set_.sha256; }

  DocumentRequests Requests(int64_t index) const override {
    const Item& item = records_[static_cast<size_t>(index)];
    DocumentRequests out;
    out.doc_id = index;
    out.id = item.id.empty() ? fmt::format("{}", index) : item.id;
    out.doc = core::PythonJson(*set_.records[static_cast<size_t>(index)].value);
    out.target = core::PythonJson(core::Json(item.answers));
    GenerateRequest request;
    request.prompt = FillPrompt(dataset_, item.context, item.input);
    request.max_new_tokens = dataset_.max_new_tokens;
    constexpr int64_t kRoomLeft = -500;  // the reference's limits are a model's length less 500
    request.middle_truncate_to = max_length_.value_or(kRoomLeft);
    out.requests.push_back(std::move(request));
    return out;
  }

  SampleScore Score(int64_t index, std::span<const Response> responses) const override {
    const Item& item = records_[static_cast<size_t>(index)];
    std::string_view prediction = std::get<GenerateResult>(responses[0]).text;
    if (metrics::ScoresFirstLine(dataset_.name)) prediction = metrics::FirstLine(prediction);
    metrics::LongBenchContext context;
    context.all_classes = item.classes;
    context.has_classes = item.has_classes;
    const double value = metrics::LongBenchScore(metric_, prediction, item.answers, context);
    SampleScore score;
    score.metrics = {{"score", "none", {value}}};
    if (e_) {
      const auto in_bucket = [&](const char* name, bool inside) {
        score.metrics.push_back({fmt::format("score_{}", name), "none",
                                 inside ? std::vector<double>{value} : std::vector<double>{}});
      };
      in_bucket("0-4k", item.length < 4000);
      in_bucket("4-8k", item.length >= 4000 && item.length < 8000);
      in_bucket("8k+", item.length >= 8000);
    }
    return score;
  }

 private:
  struct Item {
    std::string id, context, input;
    std::vector<std::string> answers, classes;
    bool has_classes = false;
    int64_t length = 0;
  };

  Item Parse(const Record& record) const {
    const core::JsonObject object(*record.value, record.where, ErrorCode::kData);
    Item item;
    item.context = object.String("context");
    // The hub's copy for the harness names the field "question".
    item.input =
        object.String(object.Has("input") || !object.Has("question") ? "input" : "question");
    item.answers = object.Strings("answers");
    if (item.answers.empty()) throw object.Wrong("answers", "at least one answer");
    if (object.Has("_id")) item.id = object.String("_id");
    item.has_classes = object.Has("all_classes");
    if (item.has_classes) item.classes = object.Strings("all_classes");
    if (metric_ == metrics::LongBenchMetric::kClassification && item.classes.empty()) {
      throw object.Wrong("all_classes", "the list of classes");
    }
    if (e_) item.length = object.Int("length");
    const bool numbered = metric_ == metrics::LongBenchMetric::kRetrieval ||
                          metric_ == metrics::LongBenchMetric::kRetrievalZh;
    if (numbered) {
      // An answer without a paragraph's number can't be scored; better now than after the model.
      try {
        metrics::LongBenchScore(metric_, "1", item.answers, {});
      } catch (const Error&) {
        throw object.Wrong("answers", "answers like \"Paragraph 3\" (Chinese: 段落3)");
      }
    }
    return item;
  }

  TaskCard card_;
  const Dataset& dataset_;
  bool e_;
  metrics::LongBenchMetric metric_;
  std::optional<int64_t> max_length_;
  RecordSet set_;
  std::vector<Item> records_;
};

}  // namespace

std::string FillPrompt(const Dataset& dataset, const std::string& context,
                       const std::string& input) {
  std::string prompt;
  const std::string& text = dataset.prompt;
  for (size_t i = 0; i < text.size();) {
    if (text.compare(i, 9, "{context}") == 0) {
      prompt += context;
      i += 9;
    } else if (text.compare(i, 7, "{input}") == 0) {
      prompt += input;
      i += 7;
    } else {
      prompt += text[i++];
    }
  }
  return prompt;
}

std::vector<TaskEntry> LongBenchTasks() {
  std::vector<TaskEntry> entries;
  for (const bool e : {false, true}) {
    for (const Dataset& dataset : Datasets()) {
      if (e && !dataset.in_e) continue;
      entries.push_back({MakeCard(dataset, e).name,
                         [&dataset, e] { return MakeCard(dataset, e); },
                         [&dataset, e](const DataSource& data,
                                       const TaskOptions& options) -> std::unique_ptr<Task> {
                           return std::make_unique<LongBenchTask>(dataset, e, data, options);
                         },
                         {"max_length"}});
    }
  }
  return entries;
}

}  // namespace natsl::tasks::longbench
